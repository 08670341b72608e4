/** `data` of an answer; members as the API shows them. */
export type Data = Readonly<Record<string, unknown>>;

/** How many events of a type there must be, at least and at most. */
export type Amount = readonly [min: number, max: number];

/** What an answer may show: the thing as the log says it was right after the command's event. */
export interface After {
  /** State of the stream, as its decider folds it. */
  readonly state: unknown;
  /** Of the event. */
  readonly commandId: string;
  /** As answered, for what no event says, e.g. the signature of an address. */
  readonly data: Data;
}

/** What a client asks for, and all that must come of it. */
export interface Command {
  readonly kind: string;
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  /** JSON, or the bytes of an upload. */
  readonly body?: object | undefined;
  /**
   * `keyed`: with an idempotency key, until the outcome is definite. `once`: without one, sent once. `repeatable`: without
   * one, until it is definite, since it is of one effect by itself.
   */
  readonly sent: 'keyed' | 'once' | 'repeatable';
  /** What its client, the only one to write this thing, knows must come of it. */
  readonly expected: 'ok' | 'refused';
  /** Of the answer when it is done. */
  readonly status: number;
  /** The one event that it is done by. */
  readonly event: string;
  /** Where that event is. */
  readonly stream: (data: Data) => string;
  /** The id of the command that the event names, by that of the request. Default: the same. */
  readonly causedBy?: (commandId: string) => string;
  /** Events of other types, in whatever streams. Default: none. */
  readonly besides?: Readonly<Record<string, Amount>>;
  /** `data` of the answer; not asked for with 204. */
  readonly answer: (after: After) => unknown;
  /** Tells the client's own picture that it is done. @returns how the thing is read back, if it is */
  readonly done: (data: Data) => Reading | undefined;
  /** Whether what it was done to has ended since, so that a repeat is refused. Only of what has no key. */
  readonly isOver?: () => boolean;
  /** As `done`, of one that was sent once and may have been done or not: the thing is left alone from now on. */
  readonly lost: () => void;
}

/** A read and what it must show, as long as nothing else is done to the thing. */
export interface Reading {
  readonly url: string;
  /** Members that `data` must have; undefined: the thing must not be there. */
  readonly shown: Data | undefined;
}

export const FOREVER = Number.POSITIVE_INFINITY;

/** A part of an answer, to be looked for in a read. */
export const picked = (data: Data, ...members: readonly string[]): Data =>
  Object.fromEntries(members.map((member) => [member, data[member]]));
