import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { executeOnAsset } from '../../command/assets/handler.ts';
import { createOrphanedObjects, createOverdueReservations } from '../../command/assets/sweep-assets.ts';
import { createObjectAttempts } from '../../command/assets/object-attempts.ts';
import { findEndedFlights, findOverdueReservations } from '../../app/lookups/overdue.ts';
import { createEndedFlights } from '../../command/campaigns/complete-campaigns.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { assetStream } from '../../domain/assets/asset.ts';
import type { CampaignResource } from '../../domain/campaigns/resource.ts';
import { campaignStream } from '../../domain/campaigns/campaign.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { isoTimestamp, systemClock } from '../../shared/async/clock.ts';
import type { ObjectStore } from '../../shared/storage/object-store.ts';
import { openObjectStore } from '../../shared/storage/open-object-store.ts';
import { amount } from '../support/amount.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Due work is done even if the first items of the list fail. */

const POISONED = 30;
/** Several pages of a sweep. */
const DUE = amount(400, 1_200);

let service: RunningService;
let account: TestAccount;
let advertiser: number;
let objects: ObjectStore;
beforeAll(async () => {
  // No other process sweeps.
  service = await startRunningService({ ROLES: 'api,projector' });
  account = await service.openAccount();
  advertiser = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data.id;
  objects = await openObjectStore(undefined, service.dataDir);
});
afterAll(() => service.stop());

/** Makes every command on the stream fail: a later version has written to it. */
const poison = (stream: string, type: string): Promise<unknown> => {
  const id = randomUUID();
  const metadata = {
    customerId: account.customerId,
    actor: 'test',
    requestId: id,
    correlationId: id,
    causationId: id,
    occurredAt: isoTimestamp(Date.now()),
    schemaVersion: 99,
  };
  return service.store.append(stream, [{ id, type, data: {}, metadata }], 'any');
};

const countOf = async (sql: string): Promise<number> =>
  (await service.pool.query<{ count: number }>(`select count(*)::int as count from ${sql}`)).rows[0]?.count ??
  0;

const until = async (condition: () => Promise<boolean>): Promise<void> => {
  const startedAt = performance.now();
  while (!(await condition()) && performance.now() - startedAt < 60_000) await sleep(50);
  expect(await condition()).toBe(true);
};

/** Two processes at once, with the number of failures that each reports. */
const failuresOfTwo = async (purge: () => Promise<number>, purgeToo: () => Promise<number>) => {
  const ends = await Promise.allSettled([purge(), purgeToo()]);
  return ends.map((end) => (end.status === 'rejected' ? (end.reason as { failed?: number }).failed : 0));
};

const eventTypes = async (streamOf: (id: string) => string, ids: readonly string[]): Promise<Set<string>> => {
  const types = new Set<string>();
  for (const id of ids) {
    types.add((await service.eventsOf(streamOf(id))).map(({ type }) => type).join());
  }
  return types;
};

describe(`after ${POISONED} items that always fail`, () => {
  it(`${DUE} overdue reservations end in one run, each once, also with two processes at once`, async () => {
    const { customerId } = account;
    const streamOf = (id: string): string => assetStream(customerId, id);
    const ids = Array.from({ length: POISONED + DUE }, () => randomUUID());
    const writes = { ...service.installation, clock: systemClock, objects };
    const reserve = async (assetId: string): Promise<void> => {
      const now = isoTimestamp(Date.now());
      const asset = {
        assetId,
        customerId,
        advertiserId: advertiser,
        name: 'A',
        mimeType: 'image/png',
        mediaKind: 'image',
        source: 'uploaded',
        bytesMax: 1_000,
        expiresAt: now,
      } as const;
      const context = { commandId: assetId, customerId, actor: 'test', requestId: assetId };
      await executeOnAsset(writes, assetId, { type: 'ReserveAsset', now, asset }, { context });
    };
    for (let at = 0; at < ids.length; at += 50) await Promise.all(ids.slice(at, at + 50).map(reserve));
    await until(async () => (await countOf(`assets where status = 'RESERVED'`)) === ids.length);
    const [poisoned, due] = [ids.slice(0, POISONED), ids.slice(POISONED)];
    for (const id of poisoned) await poison(streamOf(id), 'AssetRemoved');
    // All due at the same time, except the failing ones, which come first.
    await service.pool.query(
      `update assets set expires_at = date_trunc('hour', now())
         - case when id = any($1::uuid[]) then interval '4 hours' else interval '3 hours' end`,
      [poisoned],
    );
    const one = () =>
      createOverdueReservations(writes, findOverdueReservations(service.pool), Infinity).purge(100);
    expect(await failuresOfTwo(one, one)).toEqual([POISONED, POISONED]);
    await until(async () => (await countOf(`assets where status = 'RESERVED'`)) === POISONED);
    expect(await countOf(`assets where status = 'EXPIRED'`)).toBe(DUE);
    expect(await eventTypes(streamOf, due)).toEqual(new Set(['AssetReserved,AssetReservationExpired']));
    expect(await eventTypes(streamOf, poisoned)).toEqual(new Set(['AssetReserved,AssetRemoved']));
    // The failing ones stay due and are reported again.
    await expect(one()).rejects.toMatchObject({ failed: POISONED, done: 0 });
  }, 300_000);

  it('ended flights complete their campaigns, and orphaned objects are deleted', async () => {
    const { customerId, api } = account;
    const flight = { startAt: '2020-01-01T00:00:00Z', endAt: '2020-02-01T00:00:00Z' };
    const [uuids, shown]: [string[], string[]] = [[], []];
    for (let n = 0; n < POISONED + 60; n++) {
      const { id } = (
        await api.post<CampaignResource>('/campaigns', { advertiserId: advertiser, name: `C ${n}` })
      ).body.data;
      await api.post(`/campaigns/${id}/execute`);
      expect((await api.put(`/campaigns/${id}`, { flight })).status).toBe(200);
      shown.push(id);
      uuids.push(id.replace(/^cmp_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'));
    }
    const ordered = uuids.toSorted();
    const poisoned = ordered.slice(0, POISONED);
    for (const id of poisoned) await poison(campaignStream(customerId, id), 'CampaignPaused');
    await until(async () => (await countOf(`campaigns where ends_at < now()`)) === uuids.length);
    const { store, pool } = service;
    const ended = () =>
      createEndedFlights({ store, clock: systemClock }, findEndedFlights(pool), Infinity).purge(10);
    expect(await failuresOfTwo(ended, ended)).toEqual([POISONED, POISONED]);
    const due = ordered.slice(POISONED);
    const streamOf = (id: string): string => campaignStream(customerId, id);
    expect(await eventTypes(streamOf, due)).toEqual(
      new Set(['CampaignCreated,CampaignLaunched,CampaignUpdated,CampaignCompleted']),
    );
    const last = shown[uuids.indexOf(ordered.at(-1) ?? '')];
    expect((await api.get<CampaignResource>(`/campaigns/${last}`)).body.data.phase).toBe('completed');

    const attempts = createObjectAttempts(pool);
    for (let n = 0; n < POISONED + 60; n++) {
      const assetId = randomUUID();
      const storageKey = `${assetId.replaceAll('-', '')}-${'0'.repeat(24)}.bin`;
      await attempts.begin({ customerId, assetId, storageKey });
      if (n < POISONED) await poison(assetStream(customerId, assetId), 'AssetRemoved');
    }
    await pool.query(`update asset_objects set begun_at = date_trunc('hour', now()) - interval '2 days'`);
    const writes = { ...service.installation, clock: systemClock, objects };
    await expect(createOrphanedObjects(writes).purge(10)).rejects.toMatchObject({
      failed: POISONED,
      done: 60,
    });
    expect(await countOf('asset_objects')).toBe(POISONED);
  }, 300_000);
});
