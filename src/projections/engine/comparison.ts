/**
 * SQL of what is compared, from a table. @param beside another table of the same read model, where this one is
 */
export type SelectOf = (table: string, beside: (name: string) => string) => string;

/** Where equal rows are not equal byte by byte, or need not be there. */
export interface Comparison {
  /** Which rows count, as SQL: not those that a purge by the clock may have taken, say. */
  readonly where?: string;
  /** What is compared instead of the table's rows, and what is found by what. */
  readonly instead?: {
    readonly select: SelectOf;
    /** What it should be, when the copy's other tables say that already. Default: `select`. */
    readonly ofCopy?: SelectOf;
    readonly key: readonly string[];
  };
  /** Numeric columns whose sums depend on how events came in batches: equal up to a billionth. */
  readonly close?: readonly string[];
}
