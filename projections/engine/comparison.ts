/** Where equal rows are not equal byte by byte, or need not be there. */
export interface Comparison {
  /** Which rows count, as SQL: not those that a purge by the clock may have taken, say. */
  readonly where?: string;
  /** What is compared instead of the table's rows, and what is found by what. */
  readonly instead?: {
    /** SQL of what is compared, from a table. */
    readonly select: (table: string) => string;
    readonly key: readonly string[];
  };
  /** Numeric columns whose sums depend on how events came in batches: equal up to a billionth. */
  readonly close?: readonly string[];
}
