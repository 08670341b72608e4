import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client, type ClientBase } from 'pg';
import {
  advertiserAggregate,
  advertiserStream,
  type AdvertiserCommand,
} from '../../domain/advertisers/advertiser.ts';
import { advertisersProjection } from '../../projections/advertisers.ts';
import type { Projection } from '../../projections/engine/projection.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import { advertiserDetails } from '../support/advertiser-details.ts';
import { createProjectionFixture, type ProjectionFixture } from '../support/projection-fixture.ts';
import { createRandom, type Random } from './kit/random.ts';

const WRITERS = 12;
/** The long form: `FAULT_EVENTS=1000000 npm run jest -- redelivery`; about as many events are written. */
const COMMANDS_EACH = Math.ceil(Number(process.env['FAULT_EVENTS'] ?? 1_250) / WRITERS / 0.41);
/** Advertisers that all writers change: few enough for conflicts, enough to keep streams short. */
const SHARED = Math.ceil(COMMANDS_EACH / 12);
/** Ids of advertisers that only one writer changes, after the shared ones. */
const ownId = (writer: number, n: number): number => (writer + 1) * 1_000_000 + n;
const CUSTOMER = 7;
const CAUGHT_UP_MS_MAX = 600_000;
const now = '2026-01-01T00:00:00.000Z';

let fixture: ProjectionFixture;
beforeAll(async () => {
  fixture = await createProjectionFixture();
  await fixture.open();
});
afterAll(async () => {
  await fixture.close();
  await fixture.drop();
});

const create = (advertiserId: number): AdvertiserCommand => ({
  type: 'CreateAdvertiser',
  now,
  advertiserId,
  customerId: CUSTOMER,
  details: {
    ...advertiserDetails,
    name: `Advertiser ${advertiserId}`,
    sandbox: advertiserId % 5 === 0,
  },
  frequencyCaps: [],
  newCapIds: [],
});

const change = (random: Random): AdvertiserCommand =>
  random.pick<AdvertiserCommand>([
    {
      type: 'UpdateAdvertiser',
      now,
      changes: { name: `Name ${random.below(1_000)}` },
      newCapIds: [],
      unchangeable: {},
    },
    { type: 'ArchiveAdvertiser', now },
    { type: 'RestoreAdvertiser', now },
  ]);

const write = async (writer: number): Promise<void> => {
  const random = createRandom(writer);
  for (let n = 0; n < COMMANDS_EACH; n++) {
    // Every third command changes a shared advertiser.
    const isShared = n % 3 === 0;
    const id = isShared ? 1 + random.below(SHARED) : ownId(writer, Math.floor(n / 4));
    const isNew = n % 4 === 1 && !isShared;
    const command = isNew || (isShared && random.chance(0.2)) ? create(id) : change(random);
    await executeCommand(fixture.store, advertiserAggregate, {
      stream: advertiserStream(CUSTOMER, id),
      command,
      context: { commandId: randomUUID(), customerId: CUSTOMER, actor: 'test', requestId: 'redelivery' },
    });
  }
};

const TABLES = {
  advertisers: 'customer_id, id, revision, status, sandbox, name, created_at, body',
  advertiser_counts: '*',
} as const;

/** Runs on a connection without the service's timeouts: a million rows take long. */
const atLength = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client({ connectionString: fixture.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

/** Copies the read model's rows to other tables. */
const putAside = (): Promise<void> =>
  atLength(async (client) => {
    for (const [table, columns] of Object.entries(TABLES)) {
      await client.query(`create table live_${table} as select ${columns} from ${table}`);
    }
  });

/** The number of rows that differ between the live read model and the rebuilt one. */
const differences = (): Promise<number> =>
  atLength(async (client) => {
    let found = 0;
    for (const [table, columns] of Object.entries(TABLES)) {
      const [live, rebuilt] = [`select * from live_${table}`, `select ${columns} from ${table}`];
      const { rowCount } = await client.query(
        `(${live} except ${rebuilt}) union all (${rebuilt} except ${live})`,
      );
      found += rowCount ?? 0;
    }
    return found;
  });

/** The number of rows written so far in this transaction, including unchanged ones. */
const writtenRows = async (client: ClientBase): Promise<number> => {
  const { rows } = await client.query<{ written: number }>(
    `select sum(n_tup_ins + n_tup_upd + n_tup_del)::int as written
     from pg_stat_xact_user_tables where relname = any($1)`,
    [Object.keys(TABLES)],
  );
  return rows[0]?.written ?? 0;
};

it('12 writers, every event delivered three times: no row changes again, and a rebuild equals the live rows', async () => {
  let [delivered, written, changedAgain] = [0, 0, 0];
  const thrice: Projection = {
    ...advertisersProjection,
    apply: async (client, events) => {
      await advertisersProjection.apply(client, events);
      const once = await writtenRows(client);
      await advertisersProjection.apply(client, events);
      await advertisersProjection.apply(client, events);
      delivered += events.length;
      written += once;
      changedAgain += (await writtenRows(client)) - once;
    },
  };
  const live = fixture.engine({ projections: [thrice] });
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  await fixture.caughtUp('advertisers', CAUGHT_UP_MS_MAX);
  await live.stop();
  await putAside();

  await fixture.pool.query('truncate advertisers, advertiser_counts, projection_checkpoints');
  fixture.engine({ projections: [advertisersProjection] });
  await fixture.caughtUp('advertisers', CAUGHT_UP_MS_MAX);
  expect(await differences()).toBe(0);
  expect(changedAgain).toBe(0);
  // At least each writer's own advertisers are written, regardless of the batch sizes.
  expect(written).toBeGreaterThanOrEqual(WRITERS * 2 * Math.floor(COMMANDS_EACH / 12));

  const { rows: log } = await atLength((client) =>
    client.query<{ events: number }>('select count(*)::int as events from events'),
  );
  expect(delivered).toBe(log[0]?.events);
  const { rows } = await atLength((client) =>
    client.query<{ count: number }>('select count(*)::int from advertisers'),
  );
  console.log(
    `${delivered} events from ${WRITERS} writers, each delivered three times: ${changedAgain} rows written again, ` +
      `${rows[0]?.count ?? 0} advertisers equal row by row after a rebuild`,
  );
}, 3_600_000);
