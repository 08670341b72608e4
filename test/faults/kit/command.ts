/** `data` of an answer; members as the API shows them. */
export type Data = Readonly<Record<string, unknown>>;

/** The minimum and maximum count of events of a type. */
export type CountRange = readonly [min: number, max: number];

/** The resource's state in the log right after the command's event. The answer must show it. */
export interface ResultContext {
  /** The stream's state, folded by its aggregate. */
  readonly state: unknown;
  /** The command id in the event. */
  readonly commandId: string;
  /** The answer itself, for values that no event contains, e.g. the signature of an address. */
  readonly data: Data;
}

/** A client's command and its predicted result. */
export interface Command {
  readonly kind: string;
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  /** JSON, or the bytes of an upload. */
  readonly body?: object | undefined;
  /**
   * `keyed`: with an idempotency key, until the outcome is definite. `once`: without a key, sent once. `repeatable`:
   * without a key, until the outcome is definite, because a repeat has no further effect.
   */
  readonly sent: 'keyed' | 'once' | 'repeatable';
  /** The result that the client, as the only writer, predicts. */
  readonly expected: 'ok' | 'refused';
  /** The status of a successful answer. */
  readonly status: number;
  /** The type of its one event. */
  readonly event: string;
  /** The stream of that event. */
  readonly stream: (data: Data) => string;
  /** The command id in the event, from the request's command id. Default: the same. */
  readonly causedBy?: (commandId: string) => string;
  /** Counts of events of other types, in any stream. Default: none. */
  readonly otherEvents?: Readonly<Record<string, CountRange>>;
  /** `data` of the answer. Not used with status 204. */
  readonly answer: (after: ResultContext) => unknown;
  /** Updates the client's state after success. @returns how to read the resource back */
  readonly done: (data: Data) => Reading | undefined;
  /** Whether a later command ended the resource, so that a repeat is refused. Only for commands without a key. */
  readonly isOver?: () => boolean;
  /**
   * Updates the client's state after a command that was sent once and may have been executed: the resource is no longer
   * used.
   */
  readonly lost: () => void;
}

/** A read, and what it must show until the next write to the resource. */
export interface Reading {
  readonly url: string;
  /** Members that `data` must contain. Undefined: the resource must not exist. */
  readonly shown: Data | undefined;
}

export const FOREVER = Number.POSITIVE_INFINITY;

/** Some members of an answer, to be compared with a read. */
export const picked = (data: Data, ...members: readonly string[]): Data =>
  Object.fromEntries(members.map((member) => [member, data[member]]));
