import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { PoolClient } from 'pg';
import {
  countInBlocks,
  fillBlocks,
  judgeBlocksSql,
  type BlockChange,
  type ListBlocks,
} from '../../src/projections/engine/list-blocks.ts';
import { syndicationBlocks } from '../../src/projections/syndication.ts';
import { pageKeysSql, type PageBlocks } from '../../src/query/resources/page-keys.ts';
import { inTransaction } from '../../src/shared/postgres/pool.ts';
import { blocksAtSql } from '../../src/shared/read-your-writes/kept-blocks.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

/** Rows come to a list, move, change their kind and leave; then every page of it, against the same list kept here. */

const readModels = useReadModelDatabase();

const ROWS_MAX = 8;
/** All rows are in the list, or only those that are not of one status. */
const everyRow: ListBlocks = { ...syndicationBlocks, rowsMax: ROWS_MAX };
const someRows: ListBlocks = {
  ...everyRow,
  // Statements are named after the table, and a connection prepares one of each name.
  table: `public.${everyRow.table}`,
  where: `r.status <> 'DISABLED'`,
};
const isListed = ({ where }: ListBlocks, { status }: Pick<Row, 'status'>): boolean =>
  where === undefined || status !== 'DISABLED';
const LONG = process.env['LONG_FORMS'] === 'true';

const STATUSES = ['PENDING', 'COMPLETED', 'DISABLED'] as const;
const AGENT = '00000000-0000-4000-8000-00000000000a';
const kindOf = (status: string): string => `${AGENT}/CATALOG/${status}`;

interface Row {
  readonly id: string;
  readonly advertiserId: number;
  readonly atMs: number;
  readonly status: string;
}
interface Step {
  readonly what: 'come' | 'move' | 'change' | 'leave';
  /** Which row: of those that are there, or the number of a new one. */
  readonly which: number;
  /** What the clock says: it goes on unevenly, and several rows have one time. */
  readonly atMs: number;
  readonly status: string;
}

const step = fc.record<Step>({
  what: fc.constantFrom('come', 'come', 'come', 'move', 'change', 'leave'),
  which: fc.nat({ max: 0xff_ff_ff }),
  atMs: fc.nat({ max: 40 }),
  status: fc.constantFrom(...STATUSES),
});
/** Small batches, and now and then a large one. */
const batches = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.array(step, { maxLength: 6 }) },
    { weight: 1, arbitrary: fc.array(step, { minLength: 20, maxLength: 60 }) },
  ),
  { maxLength: 14 },
);

const idOf = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
const at = (atMs: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + atMs).toISOString();
const changeOf = ({ id, advertiserId, atMs, status }: Row, change: 1 | -1): BlockChange => ({
  customerId: 1,
  advertiserId,
  at: at(atMs),
  id,
  kinds: [kindOf(status)],
  change,
});

/** What the steps of one batch make of the rows. */
const after = (rows: ReadonlyMap<string, Row>, steps: readonly Step[], base: number): Map<string, Row> => {
  const next = new Map(rows);
  for (const { what, which, atMs, status } of steps) {
    const old = [...next.values()][which % Math.max(1, next.size)];
    if (what === 'come') {
      const id = idOf(which);
      if (!next.has(id)) next.set(id, { id, advertiserId: 7 + (which % 2), atMs: base + atMs, status });
    } else if (old !== undefined) {
      if (what === 'leave') next.delete(old.id);
      else next.set(old.id, { ...old, status, ...(what === 'move' && { atMs: base + atMs }) });
    }
  }
  return next;
};

const apply = async (
  client: PoolClient,
  blocks: ListBlocks,
  before: ReadonlyMap<string, Row>,
  next: ReadonlyMap<string, Row>,
): Promise<void> => {
  const gone = [...before.values()].filter((row) => next.get(row.id) !== row);
  const come = [...next.values()].filter((row) => before.get(row.id) !== row);
  await client.query('delete from syndication_records where id = any($1)', [gone.map(({ id }) => id)]);
  await client.query(
    `insert into syndication_records (customer_id, id, advertiser_id, resource_type, resource_id, resource_uuid, agent_id,
       account, status, waiting, generation, revision, updated_at, body)
     select 1, id, advertiser_id, 'CATALOG', 'r', id, $5, '{}', status, false, 1, 0, at, ''
     from unnest($1::uuid[], $2::int[], $3::text[], $4::timestamptz[]) n(id, advertiser_id, status, at)`,
    [
      come.map(({ id }) => id),
      come.map(({ advertiserId }) => advertiserId),
      come.map(({ status }) => status),
      come.map(({ atMs }) => at(atMs)),
      AGENT,
    ],
  );
  await countInBlocks(client, blocks, [
    ...gone.filter((row) => isListed(blocks, row)).map((row) => changeOf(row, -1)),
    ...come.filter((row) => isListed(blocks, row)).map((row) => changeOf(row, 1)),
  ]);
};

const judged = async (client: PoolClient, blocks: ListBlocks): Promise<Record<string, number>> => {
  const { rows } = await client.query<{ key: string; count: number; astray: number }>(
    `select advertiser_id || ' ' || kind as key, count::int, astray::int
     from (${judgeBlocksSql(blocks, blocks.table, blocks.rows)}) j`,
  );
  expect(rows.filter(({ astray }) => astray > 0)).toEqual([]);
  return Object.fromEntries(rows.map(({ key, count }) => [key, count]));
};

const wantedCounts = (rows: readonly Row[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { advertiserId, status } of rows) {
    for (const kind of ['', kindOf(status)]) {
      const key = `${advertiserId} ${kind}`;
      counts[key] = (counts[key] ?? 0) + 1;
    }
  }
  return counts;
};

/** Every page has to be found by blocks. */
const pageBlocks: PageBlocks = {
  table: everyRow.table,
  advertiserId: '$2',
  projection: `'syndication'`,
  noId: `'${idOf(0)}'::uuid`,
  countedMax: -1,
};
const TAKE = 3;

const pageSql = ({ rows, where = 'true' }: ListBlocks, status: string | undefined): string =>
  pageKeysSql({
    table: `${rows} r`,
    at: 'updated_at',
    where: `customer_id = $1 and advertiser_id = $2 and ${where}${status === undefined ? '' : ` and status = '${status}'`}`,
    take: '$4',
    skip: '$3',
    total: '$5',
    blocks: {
      ...pageBlocks,
      ...(status !== undefined && { kinds: `select '${kindOf(status)}' union select 'nothing like it'` }),
    },
  });

const pageAt = async (
  client: PoolClient,
  blocks: ListBlocks,
  { skip, total, status }: { skip: number; total: number; status: string | undefined },
): Promise<readonly string[]> => {
  const { rows } = await client.query<{ id: string }>(
    `select r.id from (${pageSql(blocks, status)}) found join syndication_records r on r.customer_id = $1 and r.id = found.id
     order by r.updated_at desc, r.id desc`,
    [1, 7, skip, TAKE, total],
  );
  return rows.map(({ id }) => id);
};

const newestFirst = (a: Row, b: Row): number => b.atMs - a.atMs || (a.id < b.id ? 1 : -1);

const checkPages = async (client: PoolClient, blocks: ListBlocks, rows: readonly Row[]): Promise<void> => {
  for (const status of [undefined, ...STATUSES]) {
    const wanted = rows
      .filter((row) => row.advertiserId === 7 && (status === undefined || row.status === status))
      .sort(newestFirst)
      .map(({ id }) => id);
    for (let skip = 0; skip <= wanted.length + 1; skip += 1) {
      const page = await pageAt(client, blocks, { skip, total: wanted.length, status });
      expect({ status, skip, page }).toEqual({ status, skip, page: wanted.slice(skip, skip + TAKE) });
    }
  }
};

/** Nothing of it stays. */
const inVain = async (work: (client: PoolClient) => Promise<void>): Promise<void> => {
  const done = new Error('rolled back');
  await inTransaction(readModels.pool, async (client) => {
    await client.query(
      `insert into projection_checkpoints (name, position, blocks_at) 
       values ('syndication', '1', ${blocksAtSql({ position: `'1'`, epoch: `'0'` })})`,
    );
    await work(client);
    throw done;
  }).catch((error: unknown) => {
    if (error !== done) throw error;
  });
};

it.each([
  ['of all rows', everyRow],
  ['of some rows', someRows],
])(
  '%s: every page, after any changes; blocks are as large as they may be, and say what is in them',
  async (_, blocks) => {
    await fc.assert(
      fc.asyncProperty(batches, (random) =>
        inVain(async (client) => {
          let rows = new Map<string, Row>();
          const listed = (): readonly Row[] => [...rows.values()].filter((row) => isListed(blocks, row));
          for (const [n, steps] of random.entries()) {
            const next = after(rows, steps, n * 20);
            await apply(client, blocks, rows, next);
            rows = next;
            expect(await judged(client, blocks)).toEqual(wantedCounts(listed()));
            const { rows: large } = await client.query(
              `select from ${blocks.table} where count > $1 or count <= 0`,
              [ROWS_MAX],
            );
            expect(large).toEqual([]);
          }
          await checkPages(client, blocks, listed());
          // Made of the rows alone they find the same pages.
          await fillBlocks(client, blocks);
          expect(await judged(client, blocks)).toEqual(wantedCounts(listed()));
          await checkPages(client, blocks, listed());
        }),
      ),
      { numRuns: LONG ? 300 : 15 },
    );
  },
  600_000,
);
