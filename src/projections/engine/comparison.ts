/** Where equal rows are not equal byte by byte, or need not be there. */
export interface Comparison {
  /** Which rows count, as SQL: not those that a purge by the clock may have taken, say. */
  readonly where?: string;
  /**
   * What is compared instead of the table's rows, as a `select` from the table, and what is found by what. @param beside
   *   another table of the same read model, where this one is
   */
  readonly instead?: {
    readonly select: (table: string, beside: (name: string) => string) => string;
    readonly key: readonly string[];
  };
  /** Numeric columns whose sums depend on how events came in batches: equal up to a billionth. */
  readonly close?: readonly string[];
}
