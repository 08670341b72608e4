import { open, truncate } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { PostgresSettings } from '../../shared/postgres/embedded/settings.ts';
import { runSql } from './bench-database.ts';
import type { MeasurementObserver } from './measure.ts';
import {
  statementsOf,
  statementText,
  type DatabasePlans,
  type Execution,
  type PlanFigures,
  type PlanNode,
} from './figures/plans.ts';

/** Every statement of a measurement of this length is logged. Longer ones log as many statements. */
const FULL_SAMPLE_SECONDS = 0.1;

/**
 * Makes Postgres log the plan and the actual work of each executed statement, also inside functions. So the service's
 * statements need no repetition.
 * @param seconds the length of a measurement. For a long one only a sample of statements is logged
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
  'auto_explain.sample_rate': String(Math.min(1, FULL_SAMPLE_SECONDS / seconds)),
});

/**
 * A line of Postgres' log;
 * https://www.postgresql.org/docs/18/runtime-config-logging.html#RUNTIME-CONFIG-LOGGING-JSONLOG
 */
interface LogLine {
  /** UTC, e.g. `2026-01-01 10:00:00.123 UTC`. */
  readonly timestamp: string;
  readonly dbname?: string;
  readonly application_name?: string;
  readonly message?: string;
}

const PLAN = /^duration: ([\d.]+) ms {2}plan:\n/;

/** `endedAt` is in ms since 1970. */
type LoggedExecution = Execution & { readonly endedAt: number };

/** @returns undefined for other lines, and for connections without a name: only the service's connections have one */
const executionIn = (line: string): LoggedExecution | undefined => {
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
  if (row.file === null) throw new Error('Postgres logs no plans');
  return isAbsolute(row.file) ? row.file : join(row.directory, row.file);
};

const TABLES_MAX = 3;

/** Selects the tables by Postgres' row estimates, and counts their rows. */
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

/** In ms since 1970. */
type TimeRange = readonly [from: number, to: number];

/** Records the times of the measurements. */
export interface MeasurementTimes extends MeasurementObserver {
  readonly ranges: readonly TimeRange[];
  forget(): void;
}

export const recordMeasurementTimes = (): MeasurementTimes => {
  const ranges: TimeRange[] = [];
  let from = 0;
  return {
    ranges,
    begin: async () => {
      from = Date.now();
    },
    end: async () => {
      ranges.push([from, Date.now()]);
      return undefined;
    },
    forget: () => {
      ranges.length = 0;
    },
  };
};

/** Clears the plans logged so far. */
export const forgetPlans = async (serverUrl: string): Promise<void> => {
  await truncate(await logFileOf(serverUrl));
};

/** Plans of the statements executed during these measurements, in databases that still exist. */
export const takePlans = async (
  serverUrl: string,
  run: string,
  ranges: readonly TimeRange[],
): Promise<PlanFigures> => {
  const file = await open(await logFileOf(serverUrl));
  const executions: LoggedExecution[] = [];
  for await (const line of createInterface({ input: file.createReadStream(), crlfDelay: Infinity })) {
    const execution = executionIn(line);
    if (execution !== undefined) executions.push(execution);
  }
  const own = new URL(serverUrl).pathname.slice(1);
  const ofScenario = executions.filter(
    ({ database, endedAt }) =>
      database !== own && ranges.some(([from, to]) => from <= endedAt && endedAt <= to),
  );
  const databases = await Promise.all(
    [...statementsOf(ofScenario)].map(async ([database, statements]) => ({
      tables: await largestTables(serverUrl, database),
      statements,
    })),
  );
  return { run, databases };
};
