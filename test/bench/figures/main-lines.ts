import type { Line } from '../measure.ts';
import type { Figures } from './figures.ts';

/**
 * The main lines of the published figures, in order. Each goal of the project appears once, by the beginning of its
 * name: the quick and the long form of a scenario have different sizes in the name.
 */
export const mainLines: readonly (readonly [scenario: string, name: string, baselineName?: string])[] = [
  ['start', 'npm start'],
  ['memory', 'idle resident memory'],
  ['memory-flat', 'resident memory'],
  ['create', 'POST /advertisers'],
  ['key', 'POST with an idempotency key, 32'],
  ['read', 'GET list of 50', 'Express 5 + prepared'],
  ['read', 'GET list of 50', 'Express 5 + knex'],
  ['read', 'GET detail'],
  ['unchanged', 'GET list of 50'],
  ['unchanged', 'GET detail'],
  ['changing', 'GET list of 50'],
  ['gate', 'authentication, limit, headers', 'Express 5, constant'],
  ['append', 'append, 1 caller'],
  ['append', 'append, 32'],
  ['append', 'append, 256'],
  ['projection', 'live projection'],
  ['rebuild', 'rebuild of advertisers'],
  ['rebuild', 'verify of advertisers', 'rebuild'],
  ['rebuild-upsert', 'rebuild of advertisers'],
  ['conversions', 'conversions, 10000 a call, all new', 'bare dedup insert, 16-byte key, full row, 1 '],
  ['conversions', 'conversions, 10000 a call, all new', 'bare dedup insert, 16-byte key, full row, 4 '],
  ['conversions', 'conversions, 10000 a call, all new', 'knex'],
  ['conversions-known', 'conversions, 10000 a call'],
  ['conversions-duplicates', 'write-ahead log of a call'],
  ['conversions', 'event-loop delay'],
  ['conversions-medium', 'conversions, 1000 a call, all new'],
  ['conversions-small', 'conversions, 100 a call'],
  ['conversions-small', 'conversions, 1 a call'],
  ['syndication', 'syndications, 6 accounts, jobs in Postgres'],
  ['toggle', 'toggle'],
  ['detail', 'GET creative detail, 3 assets'],
  ['upload', 'uploads of', 'bare Node stream'],
  ['status', 'GET syndication-status, among the first pages'],
  ['status', 'GET syndication-status, in the middle'],
  ['history', 'GET detail asOf a random revision'],
  ['growth', 'GET detail, random'],
  ['growth', 'GET list, among the first pages'],
  ['growth', 'GET list, in the middle'],
  ['growth', 'POST'],
];

const lineIn = (
  { scenarios }: Figures,
  [scenario, name, baselineName = '']: (typeof mainLines)[number],
): Line | undefined =>
  scenarios
    .find((taken) => taken.scenario === scenario)
    ?.lines.find((one) => one.name.startsWith(name) && (one.baselineName ?? '').startsWith(baselineName));

/** The main lines in the figures. A quick run omits some scenarios. */
export const mainLinesOf = (figures: Figures): readonly Line[] =>
  mainLines.flatMap((main) => lineIn(figures, main) ?? []);

/** The main lines that the figures lack, as `scenario: name`. */
export const mainLinesMissing = (figures: Figures): readonly string[] =>
  mainLines
    .filter((main) => lineIn(figures, main) === undefined)
    .map(([scenario, name]) => `${scenario}: ${name}`);
