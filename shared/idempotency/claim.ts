/** How long an answer is replayed (specification, Other bounds), in hours by the database's clock. */
export const REPLAY_HOURS = 24;

export interface ClaimRequest {
  /** Owner of the key: an account or an upload. */
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  /** Values allocated for this request, by name. The values of an earlier claim take precedence. */
  readonly reserved: Readonly<Record<string, number>>;
  /** False: stores that there was an answer, but not its text; a repeat derives it again. Default true. */
  readonly keepsAnswer?: boolean;
}

export interface StoredAnswer {
  readonly status: number;
  readonly body: string;
  /** False: not stored, even if the request's `keepsAnswer` is true. Default true. */
  readonly isKept?: boolean;
}

export type Claim =
  | {
      readonly outcome: 'claimed';
      /** Identifies this claim. A claim that took it over has another lease. */
      readonly lease: string;
      /** True if no earlier request has claimed the key. */
      readonly isFirst: boolean;
      readonly commandId: string;
      readonly reserved: Readonly<Record<string, number>>;
    }
  | { readonly outcome: 'in-flight' }
  /** The key was used for a different request. */
  | { readonly outcome: 'mismatch' }
  /** The command is done, but its answer was not stored: running it again gives the same answer. */
  | {
      readonly outcome: 'done-unkept';
      readonly commandId: string;
      readonly reserved: Readonly<Record<string, number>>;
    }
  | { readonly outcome: 'done'; readonly answer: StoredAnswer };
