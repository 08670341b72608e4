/** For tables whose rows may differ, or be missing, without an error. */
export interface Comparison {
  /** SQL condition, e.g. without rows that a purge may have deleted. */
  readonly where?: string;
  readonly instead?: {
    readonly select: (table: string) => string;
    readonly key: readonly string[];
  };
  /** Sums that depend on the batches: equal up to a billionth. */
  readonly close?: readonly string[];
}
