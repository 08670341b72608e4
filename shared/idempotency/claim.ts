/** By the database's clock (specification, Other bounds). */
export const REPLAY_HOURS = 24;

export interface ClaimRequest {
  /** An account or an upload. */
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  /** The values of an earlier claim take precedence. */
  readonly reserved: Readonly<Record<string, number>>;
  /** False: stores only that there was an answer; a repeat derives it again. Default true. */
  readonly keepsAnswer?: boolean;
}

export interface StoredAnswer {
  readonly status: number;
  readonly body: string;
  readonly isKept?: boolean;
  /** Nothing was done, e.g. a confirmation is asked for: the key stays usable, also for another body. */
  readonly hadNoEffect?: boolean;
}

export type Claim =
  | {
      readonly outcome: 'claimed';
      /** A claim that took this one over has another lease. */
      readonly lease: string;
      readonly isFirst: boolean;
      readonly commandId: string;
      readonly reserved: Readonly<Record<string, number>>;
    }
  | { readonly outcome: 'in-flight' }
  | { readonly outcome: 'mismatch' }
  /** The answer was not stored: running the command again gives the same answer. */
  | {
      readonly outcome: 'done-unkept';
      readonly commandId: string;
      readonly reserved: Readonly<Record<string, number>>;
    }
  | { readonly outcome: 'done'; readonly answer: StoredAnswer };
