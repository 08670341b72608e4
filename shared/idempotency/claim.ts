/** How long an answer is replayed (specification, Other bounds), in hours by the database's clock. */
export const REPLAY_HOURS = 24;

export interface ClaimRequest {
  /** Whose key it is: the account, or the upload. */
  readonly scope: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  /** Values allocated for this request, by name; what an earlier claim kept wins. */
  readonly reserved: Readonly<Record<string, number>>;
  /** False: only that there was an answer is stored, a repeat derives it again. Default true. */
  readonly keepsAnswer?: boolean;
}

export interface StoredAnswer {
  readonly status: number;
  readonly body: string;
  /** False: not stored whatever the request says, a repeat derives it again. Default true. */
  readonly isKept?: boolean;
}

/** What became of a claim. */
export type Claim =
  /** The command is this request's to run, with these reserved values. */
  | {
      readonly outcome: 'claimed';
      /** Names this claim among all that were ever made of the key: whoever took it over has another lease. */
      readonly lease: string;
      /** Nobody has claimed the key before, as far as is known now. */
      readonly isFirst: boolean;
      readonly commandId: string;
      readonly reserved: Readonly<Record<string, number>>;
    }
  /** Another request with this key is running it. */
  | { readonly outcome: 'in-flight' }
  /** The key belongs to another request. */
  | { readonly outcome: 'mismatch' }
  /** It has run, and its answer was not kept: running it again leads to the same answer. */
  | {
      readonly outcome: 'done-unkept';
      readonly commandId: string;
      readonly reserved: Readonly<Record<string, number>>;
    }
  /** It has run: this was the answer. */
  | { readonly outcome: 'done'; readonly answer: StoredAnswer };
