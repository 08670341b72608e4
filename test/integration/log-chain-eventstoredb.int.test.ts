import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Installation } from '../../app/installation.ts';
import { migrations } from '../../migrations/index.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { readConfig } from '../../app/config.ts';
import { portLogBytes, type LogBytes } from '../../shared/log-chain/log-bytes.ts';
import { START } from '../../shared/event-store/event-store.ts';
import { logKeysOf } from '../../shared/log-chain/log-keys.ts';
import { sealLog } from '../../shared/log-chain/seal-log.ts';
import { verifyLog } from '../../shared/log-chain/verify-log.ts';
import { migrate } from '../../shared/postgres/migrate.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { exchange } from '../support/program.ts';
import { fillWithHistory } from '../support/sample-history.ts';
import { createTestStores, type TestStores } from '../support/test-stores.ts';

/** EventStoreDB in memory, over gRPC; the checkpoints of the chain are in Postgres. */
let stores: TestStores;
let installation: Installation;
beforeAll(async () => {
  stores = await createTestStores('eventstoredb');
  await migrate(stores.settings.DATABASE_URL, migrations);
  const config = readConfig({ NODE_ENV: 'test', SECRET_KEYS: `test:${'A'.repeat(43)}`, ...stores.settings });
  installation = await openWithLongTimeouts(config, 'exchange-test');
  await fillWithHistory(installation.store, 1_200);
}, 120_000);
afterAll(async () => {
  await installation.close();
  await stores.drop();
});

const settings = () => ({ ...stores.settings, LOG_SIGNING_KEYS: `2026:${'A'.repeat(43)}` });

it('signed and verified by the command, as a whole and from a position', async () => {
  const sealed = await exchange(['log', 'seal', '--json'], settings());
  expect([sealed.status, sealed.stderr]).toEqual([0, expect.anything()]);
  const verified = await exchange(['log', 'verify', '--json'], settings());
  expect([verified.status, JSON.parse(verified.stdout)]).toEqual([
    0,
    expect.objectContaining({ events: JSON.parse(sealed.stdout).sealed }),
  ]);
  const other = await exchange(['log', 'verify', '--from', 'x'], settings());
  expect([other.status, other.stderr]).toEqual([2, expect.anything()]);
}, 120_000);

it('a changed or missing event is reported with its position', async () => {
  const { store, pool } = installation;
  const page = await store.readAll({ after: START, limit: 700 });
  const changed = page[650];
  if (changed === undefined) throw new Error('too short a log');
  const keys = logKeysOf({});
  const format = 'test-1';
  const chain = { pool, keys, clock: systemClock };
  for await (const _ of sealLog({ ...chain, log: portLogBytes(store, format) }, { newChain: true }));
  const seen = (how: (position: string) => boolean, leave: boolean): LogBytes =>
    portLogBytes(
      {
        ...store,
        readAll: async (asked) =>
          (await store.readAll(asked)).flatMap((event) =>
            !how(event.position) ? [event] : leave ? [] : [{ ...event, type: 'Other' }],
          ),
      },
      format,
    );
  const isIt = (position: string): boolean => position === changed.position;
  for (const log of [seen(isIt, false), seen(isIt, true)]) {
    const { broken } = await verifyLog({ ...chain, log });
    expect(broken).toBeDefined();
  }
  expect((await verifyLog({ ...chain, log: seen(isIt, false) })).broken?.position).toBe(changed.position);
  expect((await verifyLog({ ...chain, log: portLogBytes(store, format) })).broken).toBeUndefined();
}, 120_000);
