import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { advertiserEvents } from '../../src/domain/advertisers/advertiser-events.ts';
import {
  advertiserDecider,
  advertiserStream,
  type AdvertiserCommand,
} from '../../src/domain/advertisers/advertiser.ts';
import { advertisersProjection } from '../../src/projections/advertisers.ts';
import type { Projection } from '../../src/projections/engine/projection.ts';
import { executeCommand } from '../../src/shared/command/execute-command.ts';
import { randomId } from '../../src/shared/ids.ts';
import { createProjectionFixture, type ProjectionFixture } from '../support/projection-fixture.ts';
import { createRandom, type Random } from './kit/random.ts';

const WRITERS = 12;
const COMMANDS_EACH = 250;
const CUSTOMER = 7;
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
    name: `Advertiser ${advertiserId}`,
    sandbox: advertiserId % 5 === 0,
    primaryCurrency: 'USD',
    brandCountries: [],
    channels: [],
    optimizationApplyMode: 'MANUAL',
    autonomy: { inventorySelection: 'manual', rebriefing: 'manual' },
    controls: { exclusions: [] },
    utmConfig: [],
    labels: {},
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
    // Every third advertiser is written by everybody.
    const id = n % 3 === 0 ? 1 + random.below(20) : 1_000 * (writer + 1) + Math.floor(n / 4);
    const isNew = n % 4 === 1 && id >= 1_000;
    const command = isNew || (id < 1_000 && random.chance(0.2)) ? create(id) : change(random);
    await executeCommand(
      fixture.store,
      { decider: advertiserDecider, events: advertiserEvents },
      {
        stream: advertiserStream(CUSTOMER, id),
        command,
        context: { commandId: randomId(), customerId: CUSTOMER, actor: 'test', requestId: 'redelivery' },
      },
    );
  }
};

const readModel = async (): Promise<readonly unknown[]> => {
  const rows = await fixture.pool.query(
    'select customer_id, id, revision, status, sandbox, name, created_at, body from advertisers order by 1, 2',
  );
  const counts = await fixture.pool.query(
    'select * from advertiser_counts where count <> 0 order by 1, 2, 3',
  );
  return [...rows.rows, ...counts.rows] as readonly unknown[];
};

it('12 writers, every event delivered three times: no row changes again, and a rebuild equals the live rows', async () => {
  let [delivered, changedAgain] = [0, 0];
  const thrice: Projection = {
    ...advertisersProjection,
    apply: async (client, events) => {
      const state = async (): Promise<string> =>
        JSON.stringify(
          (await client.query('select md5(string_agg(a::text, $1 order by id)) from advertisers a', [',']))
            .rows,
        ) + JSON.stringify((await client.query('select * from advertiser_counts order by 1, 2, 3')).rows);
      await advertisersProjection.apply(client, events);
      const once = await state();
      await advertisersProjection.apply(client, events);
      await advertisersProjection.apply(client, events);
      delivered += events.length;
      if ((await state()) !== once) changedAgain++;
    },
  };
  const live = fixture.engine({ projections: [thrice] });
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  await fixture.caughtUp('advertisers', 20_000);
  const rows = await readModel();
  await live.stop();

  await fixture.pool.query('truncate advertisers, advertiser_counts, projection_checkpoints');
  fixture.engine({ projections: [advertisersProjection] });
  await fixture.caughtUp('advertisers', 20_000);
  expect(await readModel()).toEqual(rows);
  expect(changedAgain).toBe(0);

  const { rows: log } = await fixture.pool.query<{ events: number; skipped: number }>(
    `select count(*)::int as events, (max(position) - count(*))::int as skipped from events`,
  );
  expect(delivered).toBe(log[0]?.events);
  console.log(
    `${delivered} events of ${WRITERS} writers, each delivered three times: ${changedAgain} batches changed rows again, ${rows.length} rows equal after a rebuild`,
  );
}, 120_000);
