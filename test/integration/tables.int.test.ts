import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { readModelTables, tables } from '../../migrations/tables.ts';
import { allProjections } from '../../projections/all-projections.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

const FOLDERS = ['app', 'cli', 'command', 'domain', 'projections', 'query', 'shared'];

const readModels = useReadModelDatabase();

interface Use {
  readonly file: string;
  readonly table: string;
  readonly isWrite: boolean;
}

const WRITES = String.raw`insert into|update|delete from|truncate`;
const READS = String.raw`from|join|using|table: '|counts: '|oldRows\(\w+, '`;

/** Other names with an underscore are tables only. These are also a field of AdCP and a setting of Postgres. */
const AMBIGUOUS = ['event_sources', 'log_checkpoints'];

const usesIn = (file: string, text: string): readonly Use[] => {
  const source = text.replaceAll(/\/\*.*?\*\/|^\s*\/\/[^\n]*$/gms, '');
  return Object.keys(tables).flatMap((table) => {
    const found = (pattern: string): boolean => new RegExp(pattern).test(source);
    const isWrite = found(String.raw`\b(?:${WRITES}) ${table}\b`);
    const isRead =
      table.includes('_') && !AMBIGUOUS.includes(table)
        ? found(String.raw`\b${table}\b`)
        : found(String.raw`\b(?:${READS})\s*${table}\b`);
    const isCte = found(String.raw`\b${table}\s*(?:\([^)]*\)\s*)?as (?:materialized )?\(`);
    return (isRead || isWrite) && !isCte ? [{ file, table, isWrite }] : [];
  });
};

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => join(folder, path));

const isUnder = (file: string, places: readonly string[]): boolean =>
  places.some((place) => file === place || (file.startsWith(place) && !place.endsWith('.ts')));

const isForbidden = ({ file, table, isWrite }: Use): boolean => {
  const { writers = [], readers = [] } = tables[table] ?? {};
  return !isUnder(file, isWrite ? writers : [...writers, ...readers]);
};

it('the list contains exactly the tables of the database', async () => {
  const { rows } = await readModels.pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace and relname not like 'knex_%'`,
  );
  expect(rows.map(({ name }) => name).toSorted()).toEqual(Object.keys(tables).toSorted());
});

it('only the listed files read or write a table', () => {
  const uses = FOLDERS.flatMap(filesOf).flatMap((file) => usesIn(file, readFileSync(file, 'utf8')));
  expect(uses.length).toBeGreaterThan(100);
  expect(uses.filter(isForbidden)).toEqual([]);
});

it('tables of projections are read models, and only projections write them', () => {
  expect(
    allProjections.flatMap((one) => one.tables).filter((name) => !readModelTables.includes(name)),
  ).toEqual([]);
  const writers = readModelTables.flatMap((name) => tables[name]?.writers ?? []);
  expect(writers.filter((place) => !place.startsWith('projections/'))).toEqual([]);
});

it.each([
  ['command/campaigns/handler.ts', 'select id from campaigns c', 'campaigns'],
  ['command/campaigns/handler.ts', 'delete from campaign_counts', 'campaign_counts'],
  ['query/campaigns/list.ts', 'update campaigns set phase = 1', 'campaigns'],
  ['command/campaigns/handler.ts', '\n// A comment.\nselect id from campaigns c', 'campaigns'],
  ['command/assets/handler.ts', `oldRows(pool, 'assets', { days: 7 })`, 'assets'],
])('finds a use in %s: %s', (file, text, table) => {
  expect(usesIn(file, `'${text}'`).filter(isForbidden)).toMatchObject([{ file, table }]);
});
