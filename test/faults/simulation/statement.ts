import type { Row, Tables } from './database.ts';

/** The conditions in which a statement runs. */
export interface StatementContext {
  readonly now: number;
  /** Until this is true, some values are refused, so that their events cannot become rows. */
  readonly isMended: boolean;
}

/** The effect of one SQL statement of the service, in memory. Other tests run the statements on Postgres. */
export interface Statement {
  /** Its prepared name, or the beginning of its text. */
  readonly is: string;
  /** The row that it locks, or waits for. */
  readonly locks?: (values: readonly unknown[]) => string;
  readonly run: (tables: Tables, values: readonly unknown[], at: StatementContext) => readonly Row[] | number;
}

export const strings = (value: unknown): readonly string[] => value as readonly string[];
