import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { createLog } from '../../app/log.ts';
import { createFailingAppends, everyAppendOf } from '../support/failing-appends.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/**
 * A sync of catalogs appends a plan, contents and versions. If the process ends after any of them, a repeat
 * completes the sync.
 */

const { wrap, failFrom, heal } = createFailingAppends();

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), { store: wrap });
  account = await service.openAccount();
});
afterAll(() => service.stop());

const catalog = (catalog_id: string, sku: string) => ({ catalog_id, type: 'product', items: [{ sku }] });
const sync = (id: number, catalogs: readonly object[], key: string) =>
  account.api.post<{ catalogs: readonly object[] }>(
    `/advertisers/${id}/catalogs/sync`,
    { catalogs, delete_missing: true },
    { 'Idempotency-Key': key },
  );

/** The plan, two contents, two versions, one archived. */
const APPENDS = 6;

it.each(everyAppendOf(APPENDS))(
  'a repeat completes the sync when appends fail from number %s on, %s that one is stored',
  async (n, how) => {
    const { id } = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
    await sync(id, [catalog('same', 'a'), catalog('changed', 'a'), catalog('gone', 'a')], randomUUID());
    const wanted = [catalog('same', 'a'), catalog('changed', 'b'), catalog('new', 'c')];
    const key = randomUUID();
    const before = (await service.eventsOfAccount(account)).length;
    failFrom(n, how);
    expect((await sync(id, wanted, key)).status).toBe(503);
    await heal();
    expect((await sync(id, wanted, key)).body.data.catalogs).toEqual([
      { catalog_id: 'same', action: 'unchanged', item_count: 1, version: 1 },
      { catalog_id: 'changed', action: 'updated', item_count: 1, version: 2 },
      { catalog_id: 'new', action: 'created', item_count: 1, version: 1 },
      { catalog_id: 'gone', action: 'deleted' },
    ]);
    expect((await service.eventsOfAccount(account)).length - before).toBe(APPENDS);
  },
);
