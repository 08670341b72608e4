import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { PoolClient } from 'pg';
import { judgeBlocksSql } from '../../src/projections/engine/blocks/compare-blocks.ts';
import { countInBlocks } from '../../src/projections/engine/blocks/count-in-blocks.ts';
import { fillBlocks } from '../../src/projections/engine/blocks/fill-blocks.ts';
import type { BlockChange, ListBlocks } from '../../src/projections/engine/blocks/list-blocks.ts';
import { fillRuns } from '../../src/projections/engine/blocks/runs.ts';
import { syndicationBlocks } from '../../src/projections/syndication.ts';
import { NO_UUID, pageKeysSql, type PageBlocks } from '../../src/query/resources/page-keys.ts';
import { inTransaction } from '../../src/shared/postgres/pool.ts';
import { blocksAtSql, RUN } from '../../src/shared/read-your-writes/kept-blocks.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

/** Rows come to a list, move, change their kind and leave; then every page of it, against the same list kept here. */

const readModels = useReadModelDatabase();

const ROWS_MAX = 8;
const RUN_BLOCKS = 3;
/** All rows are in the list, or only those that are not of one status. */
const everyRow: ListBlocks = { ...syndicationBlocks, rowsMax: ROWS_MAX, runBlocks: RUN_BLOCKS };
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
const changes = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.array(step, { maxLength: 6 }) },
    { weight: 1, arbitrary: fc.array(step, { minLength: 20, maxLength: 60 }) },
  ),
  { maxLength: 14 },
);
const coming = step.map((one): Step => ({ ...one, what: 'come' }));
/** From nothing, or from a list that is long enough for runs. */
const batches = fc.oneof(
  changes,
  fc
    .tuple(fc.array(coming, { minLength: 80, maxLength: 160 }), changes)
    .map(([first, then]) => [first, ...then]),
);

const NO_ID = '00000000-0000-0000-0000-000000000000';
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
  noId: NO_UUID,
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

const checkPages = async (
  client: PoolClient,
  blocks: ListBlocks,
  rows: readonly Row[],
  every = 1,
): Promise<void> => {
  for (const status of [undefined, ...STATUSES]) {
    const wanted = rows
      .filter((row) => row.advertiserId === 7 && (status === undefined || row.status === status))
      .sort(newestFirst)
      .map(({ id }) => id);
    for (let skip = 0; skip <= wanted.length + 1; skip += every) {
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
              `select from ${blocks.table} where count > case when starts_with(kind, $2) then 2 * $3::int else 1 end * $1 or count <= 0`,
              [ROWS_MAX, RUN, RUN_BLOCKS],
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

it('runs are made of the blocks of however many lists', async () => {
  await inVain(async (client) => {
    const insert = `insert into ${everyRow.table} (customer_id, advertiser_id, first_at, first_id, kind, count)`;
    await client.query(
      `${insert} select 1, list, '-infinity', $1, '', 1 from generate_series(10, 11000) list`,
      [NO_ID],
    );
    for (const list of [3, 5_000, 12_000]) {
      await client.query(
        `${insert} select 1, $2, '2026-01-01'::timestamptz + n * interval '1 s', $1, '', 1 from generate_series(1, 20) n`,
        [NO_ID, list],
      );
    }
    await fillRuns(client, everyRow);
    const { rows } = await client.query(
      `select advertiser_id, count(*)::int as runs, sum(count)::int as rows from ${everyRow.table}
       where kind = $1 group by 1 order by 1`,
      [RUN],
    );
    expect(rows).toEqual([
      { advertiser_id: 3, runs: 6, rows: 18 },
      { advertiser_id: 5_000, runs: 6, rows: 18 },
      { advertiser_id: 12_000, runs: 6, rows: 18 },
    ]);
  });
});

/** How many rows each run has, oldest first. */
const runs = async (client: PoolClient): Promise<readonly number[]> => {
  const { rows } = await client.query<{ count: number }>(
    `select count::int from ${everyRow.table} where customer_id = 1 and advertiser_id = 7 and kind = $1
     order by first_at, first_id`,
    [RUN],
  );
  return rows.map(({ count }) => count);
};

it('blocks become runs at the end of the list; rows in the middle cut them, rows that leave join them', async () => {
  const RUN_ROWS_MAX = 2 * RUN_BLOCKS * ROWS_MAX;
  await inVain(async (client) => {
    let rows = new Map<string, Row>();
    const become = async (next: ReadonlyMap<string, Row>): Promise<void> => {
      await apply(client, everyRow, rows, next);
      rows = new Map(next);
      expect(await judged(client, everyRow)).toEqual(wantedCounts([...rows.values()]));
    };
    const come = (from: number, count: number, atMs: (n: number) => number): Promise<void> =>
      become(
        new Map([
          ...rows,
          ...Array.from({ length: count }, (_, n) => from + n).map((n): [string, Row] => [
            idOf(n),
            { id: idOf(n), advertiserId: 7, atMs: atMs(n), status: STATUSES[n % 3] as string },
          ]),
        ]),
      );
    // In batches of all sizes.
    for (let n = 0, count = 1; n < 400; n += count, count = (count % 9) + 1) {
      await come(n, count, (one) => one * 10);
    }
    const ended = await runs(client);
    expect(ended.length).toBeGreaterThan(15);
    // New rows are counted in none.
    await come(1_000, 1, () => 10_000);
    expect(await runs(client)).toEqual(ended);
    await checkPages(client, everyRow, [...rows.values()], 7);

    for (let n = 2_000; n < 2_300; n += 5) await come(n, 5, (one) => 1_000 + (one % 7));
    const cut = await runs(client);
    expect(cut.length).toBeGreaterThan(ended.length + 2);
    expect(Math.max(...cut)).toBeLessThanOrEqual(RUN_ROWS_MAX);
    await checkPages(client, everyRow, [...rows.values()], 7);

    // One that says what is not so is found.
    await client.query('savepoint wrong');
    await client.query(
      `update ${everyRow.table} set count = count + 1 where ctid = (
         select ctid from ${everyRow.table} where kind = $1 limit 1)`,
      [RUN],
    );
    await expect(judged(client, everyRow)).rejects.toThrow('astray');
    await client.query('rollback to wrong');

    // Here and there, and then all the oldest, so that whole runs become empty.
    const left = (which: (row: Row, n: number) => boolean): Map<string, Row> =>
      new Map([...rows].filter(([, row], n) => which(row, n)));
    for (const rest of [2, 3, 5, 7]) await become(left((_, n) => n % rest > 0));
    await checkPages(client, everyRow, [...rows.values()], 7);
    expect((await runs(client)).length).toBeLessThan(ended.length);
    await become(left(({ atMs }) => atMs > 2_500));
    await checkPages(client, everyRow, [...rows.values()], 7);
    await become(new Map());
    expect((await client.query(`select from ${everyRow.table}`)).rows).toEqual([]);
  });
}, 120_000);
