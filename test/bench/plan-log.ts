import { open, truncate } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { PostgresSettings } from '../../shared/postgres/embedded/settings.ts';
import { runSql } from './bench-database.ts';
import type { TurnObserver } from './measure.ts';
import {
  statementsOf,
  statementText,
  type DatabasePlans,
  type Execution,
  type PlanFigures,
  type PlanNode,
} from './figures/plans.ts';

/** Of a turn from which every statement is taken; of longer ones as many. */
const FULL_TURN_SECONDS = 0.1;

/**
 * Has Postgres itself write the plan of each statement, as it is executed and with what it did, into its log: nobody has to
 * repeat the service's statements. Statements in functions are written, too.
 * @param seconds of a turn: of long ones not all statements are taken
 */
export const planLogSettings = (seconds: number): PostgresSettings => ({
  shared_preload_libraries: 'auto_explain',
  logging_collector: 'on',
  log_destination: 'jsonlog',
  log_filename: 'plans.log',
  log_rotation_age: '0',
  log_rotation_size: '0',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_parameter_max_length': '0',
  'auto_explain.log_format': 'json',
  'auto_explain.sample_rate': String(Math.min(1, FULL_TURN_SECONDS / seconds)),
});

/** What Postgres writes about each statement; https://www.postgresql.org/docs/18/runtime-config-logging.html#RUNTIME-CONFIG-LOGGING-JSONLOG */
interface LogLine {
  /** UTC, e.g. `2026-01-01 10:00:00.123 UTC`. */
  readonly timestamp: string;
  readonly dbname?: string;
  readonly application_name?: string;
  readonly message?: string;
}

const PLAN = /^duration: ([\d.]+) ms {2}plan:\n/;

/** An execution, and when it was over, ms since 1970. */
type Logged = Execution & { readonly endedAt: number };

/** @returns undefined of a line that is no plan, or of a connection without a name: the service's have one, the peers' none */
const executionIn = (line: string): Logged | undefined => {
  const { timestamp, dbname, application_name: application, message = '' } = JSON.parse(line) as LogLine;
  const ms = PLAN.exec(message);
  if (ms === null || dbname === undefined || (application ?? '') === '') return undefined;
  const explained = JSON.parse(message.slice(ms[0].length)) as { 'Query Text': string; Plan: PlanNode };
  return {
    database: dbname,
    text: statementText(explained['Query Text']),
    ms: Number(ms[1]),
    plan: explained.Plan,
    endedAt: Date.parse(timestamp.replace(' ', 'T').replace(' UTC', 'Z')),
  };
};

const logFileOf = async (serverUrl: string): Promise<string> => {
  const [row] = (await runSql(
    serverUrl,
    `select current_setting('data_directory') as directory, pg_current_logfile('jsonlog') as file`,
  )) as [{ directory: string; file: string | null }];
  if (row.file === null) throw new Error('Postgres writes no plans');
  return isAbsolute(row.file) ? row.file : join(row.directory, row.file);
};

const TABLES_MAX = 3;

/** Those of most rows as Postgres counts them in passing, which is about right, with the rows that they have. */
const largestTables = async (serverUrl: string, database: string): Promise<DatabasePlans['tables']> => {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  const largest = (await runSql(
    url.href,
    `select relname as name, relid::regclass::text as relation from pg_stat_user_tables where n_live_tup > 0
     order by n_live_tup desc, relname limit ${TABLES_MAX}`,
  )) as { name: string; relation: string }[];
  const counted = await Promise.all(
    largest.map(async ({ name, relation }) => {
      const [row] = (await runSql(url.href, `select count(*)::int as rows from ${relation}`)) as [
        { rows: number },
      ];
      return { name, rows: row.rows };
    }),
  );
  return counted.toSorted((a, b) => b.rows - a.rows);
};

/** From and to, ms since 1970. */
type Turn = readonly [from: number, to: number];

/** Takes down when our turns were. */
export interface TurnTimes extends TurnObserver {
  readonly turns: readonly Turn[];
  forget(): void;
}

export const takeTurnTimes = (): TurnTimes => {
  const turns: Turn[] = [];
  let from = 0;
  return {
    turns,
    begin: async () => {
      from = Date.now();
    },
    end: async () => {
      turns.push([from, Date.now()]);
      return undefined;
    },
    forget: () => {
      turns.length = 0;
    },
  };
};

/** Forgets what was executed so far. */
export const forgetPlans = async (serverUrl: string): Promise<void> => {
  await truncate(await logFileOf(serverUrl));
};

/** The plans of what was executed in these turns, of databases that still exist. */
export const takePlans = async (
  serverUrl: string,
  run: string,
  turns: readonly Turn[],
): Promise<PlanFigures> => {
  const file = await open(await logFileOf(serverUrl));
  const executions: Logged[] = [];
  for await (const line of createInterface({ input: file.createReadStream(), crlfDelay: Infinity })) {
    const execution = executionIn(line);
    if (execution !== undefined) executions.push(execution);
  }
  const own = new URL(serverUrl).pathname.slice(1);
  const ofScenario = executions.filter(
    ({ database, endedAt }) =>
      database !== own && turns.some(([from, to]) => from <= endedAt && endedAt <= to),
  );
  const databases = await Promise.all(
    [...statementsOf(ofScenario)].map(async ([database, statements]) => ({
      tables: await largestTables(serverUrl, database),
      statements,
    })),
  );
  return { run, databases };
};
