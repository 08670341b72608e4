import type { Line } from '../measure.ts';

export interface Database {
  readonly url: string;
}

/** The real service on a database of its own, with an account, and its peers beside it on another. */
export interface Stage {
  readonly databaseUrl: string;
  readonly service: { readonly port: number; readonly pid: number };
  readonly bare: { readonly port: number; readonly databaseUrl: string };
  readonly customerId: number;
  readonly apiKey: string;
}

/** What every scenario gets. Whatever it opens is given to `atEnd`, which runs after it in reverse order. */
export interface Bench {
  readonly quick: boolean;
  readonly rounds: number;
  /** Rounds that are not counted, where processes are new: they serve as they would after an hour of it. */
  readonly warmUpRounds: number;
  /** Of one measurement. */
  readonly seconds: number;
  /** Advertisers in the large account of the growth scenario. */
  readonly growTo: number;
  /** Where peers are installed that this project does not depend on. */
  readonly peersDirectory?: string;
  /** A migrated database, dropped after the scenario. */
  createDatabase(): Promise<Database>;
  /**
   * What `open` opens, the same for all scenarios that ask for it: opened when the first one does, closed at the end of the run.
   * With `--profile` or `--plans` each scenario has its own.
   */
  shared<Opened>(open: (bench: Opening) => Promise<Opened>): Promise<Opened>;
  atEnd(close: () => Promise<void>): void;
}

/** What it takes to open something. */
export type Opening = Pick<Bench, 'createDatabase' | 'atEnd'>;

export type Scenario = (bench: Bench) => Promise<readonly Line[]>;
