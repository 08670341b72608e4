import type { Row, Tables } from './database.ts';

/** What holds when a statement runs. */
export interface Moment {
  readonly now: number;
  /** Until then some values are refused: an event that has them cannot become a row. */
  readonly isMended: boolean;
}

/** What one SQL statement of the service does, in memory. The statements themselves are tested on Postgres. */
export interface Statement {
  /** The name it is prepared under, or how its text begins. */
  readonly is: string;
  /** The row it locks, or waits for. */
  readonly locks?: (values: readonly unknown[]) => string;
  readonly run: (tables: Tables, values: readonly unknown[], at: Moment) => readonly Row[] | number;
}

export const strings = (value: unknown): readonly string[] => value as readonly string[];
