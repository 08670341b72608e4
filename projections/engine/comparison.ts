/** How to compare a table whose rows may differ, or be missing, without an error. */
export interface Comparison {
  /** SQL condition on the compared rows, e.g. without rows that a purge may have deleted. */
  readonly where?: string;
  /** Compares the result of a query instead of the rows. */
  readonly instead?: {
    readonly select: (table: string) => string;
    readonly key: readonly string[];
  };
  /** Numeric columns whose sums depend on the batches: equal up to a billionth. */
  readonly close?: readonly string[];
}
