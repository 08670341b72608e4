import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { advertisersProjection } from '../../projections/advertisers.ts';
import { auditProjection } from '../../projections/audit.ts';
import {
  rebuildOnline,
  verifyOnline,
  type OnlineOptions,
} from '../../projections/engine/copy/online-rebuild.ts';
import type { ReadModelHealth } from '../../projections/engine/read-model-health.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { createLog } from '../../app/log.ts';
import { untilDefinite } from '../support/api-client.ts';
import { exchange } from '../support/program.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { rebuildOptions } from '../support/rebuild-options.ts';

/**
 * Online rebuilds from EventStoreDB (in memory, over gRPC), whose positions are not dense. The complete suite is
 * `test/faults/online-rebuild.fault.test.ts` with `TEST_EVENTSTORE=in-memory`.
 */

const ADVERTISERS = 60;

let service: RunningService;
let account: TestAccount;
let ids: readonly number[] = [];
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), {}, 'eventstoredb');
  account = await service.openAccount();
  ids = await add(ADVERTISERS);
}, 120_000);
afterAll(() => service.stop(), 60_000);

const add = (count: number): Promise<readonly number[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const headers = { 'Idempotency-Key': `advertiser-${ids.length}-${n}-of-this-run` };
      const made = await untilDefinite(() =>
        account.api.post<{ id: number }>('/advertisers', { name: `A ${ids.length + n}` }, headers),
      );
      return made.body.data.id;
    }),
  );

const optionsOf = (more: Partial<OnlineOptions> = {}): OnlineOptions => rebuildOptions(service, more);

const healthOf = async (readModel: string): Promise<ReadModelHealth> => {
  const { stdout } = await exchange(['read-models', 'status', readModel, '--json'], service.stores);
  return JSON.parse(stdout) as ReadModelHealth;
};

it.each([advertisersProjection, auditProjection])(
  '$name: the copy is built while the service runs, includes concurrent writes, equals the live rows, and replaces them',
  async (projection) => {
    const before = await healthOf(projection.name);
    let writing: Promise<unknown> | undefined;
    const write = async (): Promise<void> => {
      await untilDefinite(() =>
        account.api.put(`/advertisers/${ids[0]}`, { name: `While ${projection.name}` }),
      );
      ids = [...ids, ...(await add(10))];
    };
    const rebuilt = await rebuildOnline(
      optionsOf({ onProgress: () => void (writing ??= write()) }),
      projection,
    );
    await writing;
    expect(rebuilt).toMatchObject({ differences: 0, resumed: false });
    expect(rebuilt.rows).toBeGreaterThan(ADVERTISERS);
    const list = await account.api.get('/advertisers?take=1');
    expect([list.status, list.body.meta.pagination.total]).toEqual([200, ids.length]);
    const again = await verifyOnline(optionsOf(), projection);
    expect([again.differences, again.rows]).toEqual([0, expect.any(Number)]);
    const after = await healthOf(projection.name);
    expect(after).toMatchObject({ epoch: before.epoch + 1, led: true, problems: [] });
    expect([after.lagBytes, after.lagEvents, after.position > before.position]).toEqual([0, undefined, true]);
  },
  120_000,
);

it('killed before the switch, the next run resumes, finds a planted difference, and repairs it', async () => {
  const rebuild = (more: Readonly<Record<string, string>> = {}) =>
    exchange(['read-models', 'rebuild', 'advertisers', '--json'], { ...service.stores, ...more });
  expect((await rebuild({ EXCHANGE_FAILPOINTS: 'copy-before-switch:1' })).status).toBe(null);
  const left = await healthOf('advertisers');
  expect(left.copy).toMatchObject({ fraction: 1 });
  expect(left.copy?.heldBy).toBeUndefined();
  await service.pool.query(`update advertisers set name = 'Planted' where id = $1`, [ids[1]]);
  const { status, stdout } = await rebuild();
  expect([status, JSON.parse(stdout)]).toMatchObject([0, { resumed: true, switched: true, differences: 1 }]);
  const found = await exchange(['read-models', 'verify', 'advertisers', '--json'], service.stores);
  expect([found.status, JSON.parse(found.stdout)]).toMatchObject([0, { differences: 0 }]);
}, 120_000);

it('a read model is never rebuilt from another log', async () => {
  const ofOtherLog = optionsOf({ store: createMemoryEventStore() });
  await expect(verifyOnline(ofOtherLog, advertisersProjection)).rejects.toThrow(
    'made from another event store',
  );
});
