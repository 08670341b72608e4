import type { Line } from '../measure.ts';

export interface Database {
  readonly url: string;
}

/** The real service with an account and its own database, and its peers on another database. */
export interface Stage {
  readonly databaseUrl: string;
  readonly service: { readonly port: number; readonly pid: number };
  readonly bare: { readonly port: number; readonly databaseUrl: string };
  readonly customerId: number;
  readonly apiKey: string;
}

/** The parameter of each scenario. `atEnd` registers what closes the opened resources; it runs in reverse order. */
export interface Bench {
  readonly quick: boolean;
  readonly rounds: number;
  /** Discarded rounds for new processes, so that they perform as after an hour of service. */
  readonly warmUpRounds: number;
  /** The length of one measurement. */
  readonly seconds: number;
  /** Advertisers in the large account of the growth scenario. */
  readonly growTo: number;
  /** The folder of peers that this project does not depend on. */
  readonly peersDirectory?: string;
  /** A migrated database. It is dropped after the scenario. */
  createDatabase(): Promise<Database>;
  /**
   * Opens a resource that several scenarios share. The first user opens it, and the end of the run closes it. With
   * `--profile` or `--plans`, each scenario has its own.
   */
  shared<Opened>(open: (bench: Opening) => Promise<Opened>): Promise<Opened>;
  atEnd(close: () => Promise<void>): void;
}

/** The part of a bench that opening a resource needs. */
export type Opening = Pick<Bench, 'createDatabase' | 'atEnd'>;

export type Scenario = (bench: Bench) => Promise<readonly Line[]>;
