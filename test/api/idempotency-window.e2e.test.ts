import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { fingerprintOf } from '../../shared/idempotency/request-fingerprint.ts';
import { createIdempotencyStore } from '../../shared/idempotency/idempotency-store.ts';
import { apiOf, refusalOf, untilDefinite, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** A key is valid for 24 hours from completion. The tests move times in the table. */

let service: RunningService;
let account: TestAccount;
/** A new key for every test. */
let key: string;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
beforeEach(() => {
  key = randomUUID();
});
afterAll(() => service.stop());

const body = { name: 'Acme' };
const create = (): Promise<ApiAnswer<AdvertiserResource>> =>
  account.api.post('/advertisers', body, { 'Idempotency-Key': key });
const isReplay = ({ headers }: ApiAnswer<unknown>): boolean => headers.get('idempotent-replayed') === 'true';

/** Inserts the claim of an earlier request that reserved an advertiser id and died. */
const claimedBefore = async (
  ago: string,
  leaseAgo: string,
  fingerprintBody: unknown = body,
): Promise<number> => {
  const { rows } = await service.pool.query<{ id: string }>(`select nextval('advertiser_ids') as id`);
  const advertiserId = Number(rows[0]?.id);
  const fingerprint = fingerprintOf({
    method: 'post',
    path: '/api/v2/buyer/advertisers',
    pathValues: {},
    body: fingerprintBody,
  });
  await service.pool.query(
    `insert into idempotency_keys (scope, key, fingerprint, reserved, lease_until, claimed_at)
     values ($1, $2, $3, $4, now() - $5::interval, now() - $6::interval)`,
    [account.customerId, key, fingerprint, JSON.stringify({ advertiserId }), leaseAgo, ago],
  );
  return advertiserId;
};
const completedBefore = (ago: string): Promise<unknown> =>
  service.pool.query(`update idempotency_keys set completed_at = now() - $1::interval where key = $2`, [
    ago,
    key,
  ]);
const isKept = async (): Promise<boolean> =>
  (await service.pool.query('select from idempotency_keys where key = $1', [key])).rowCount === 1;

describe('a completed request', () => {
  it('is replayed for 24 hours; then its key is free', async () => {
    await claimedBefore('24 hours 10 seconds', '24 hours');
    const first = await create();
    await completedBefore('23 hours 59 minutes 50 seconds');
    const within = await create();
    expect([within.text, isReplay(within)]).toEqual([first.text, true]);
    await completedBefore('24 hours');
    const afterwards = await create();
    expect([afterwards.status, isReplay(afterwards)]).toEqual([201, false]);
    expect(afterwards.body.data.id).not.toBe(first.body.data.id);
    expect(isReplay(await create())).toBe(true);
  });

  it('with another body blocks its key for 24 hours only', async () => {
    await claimedBefore('25 hours', '25 hours', { name: 'Another' });
    await completedBefore('23 hours 59 minutes 50 seconds');
    expect(refusalOf(await create())).toEqual([409, 'IDEMPOTENCY_CONFLICT', 'Idempotency-Key']);
    await completedBefore('24 hours');
    expect((await create()).status).toBe(201);
  });
});

describe('a running request', () => {
  it('answers a repeat with 409 and Retry-After, and refuses another body', async () => {
    await claimedBefore('1 second', '-1 minute');
    const answer = await create();
    expect(refusalOf(answer)).toEqual([409, 'IDEMPOTENCY_IN_FLIGHT', 'Idempotency-Key']);
    expect(answer.headers.get('retry-after')).toBe('1');
    const other = await account.api.post('/advertisers', { name: 'B' }, { 'Idempotency-Key': key });
    expect(refusalOf(other)).toEqual([409, 'IDEMPOTENCY_CONFLICT', 'Idempotency-Key']);
  });

  it('is taken over after its process died, with its reserved id', async () => {
    const reservedId = await claimedBefore('10 seconds', '5 seconds');
    const answer = await create();
    expect([answer.status, isReplay(answer), answer.body.data.id]).toEqual([201, false, reservedId]);
    expect(isReplay(await create())).toBe(true);
  });

  it('is not taken over by a request with another body', async () => {
    await claimedBefore('10 seconds', '5 seconds', { name: 'Another' });
    expect(refusalOf(await create())).toEqual([409, 'IDEMPOTENCY_CONFLICT', 'Idempotency-Key']);
  });

  it('is one request when it died just before midnight and is repeated after it', async () => {
    // Two calendar days, at any time of day.
    const reservedId = await claimedBefore('23 hours 59 minutes', '23 hours');
    const first = await create();
    expect(first.body.data.id).toBe(reservedId);
    // The answer of the second try is lost, too.
    await service.pool.query(
      `update idempotency_keys set completed_at = null, status = null, body = null,
         lease_until = now() - interval '1 second' where key = $1`,
      [key],
    );
    const second = await create();
    expect([second.status, isReplay(second), second.text]).toEqual([201, true, first.text]);
    expect(await service.eventsOf(`advertiser-${account.customerId}-${reservedId}`)).toHaveLength(1);
  });
});

describe('the purge', () => {
  it.each([
    ['keeps', 'a running request', '1 hour', undefined],
    ['keeps', 'one completed less than 24 hours ago', '30 hours', '23 hours 59 minutes'],
    ['deletes', 'one completed 24 hours ago', '24 hours 1 second', '24 hours'],
    ['keeps', 'one that died 24 hours ago', '47 hours', undefined],
    ['deletes', 'one that died 48 hours ago', '48 hours', undefined],
  ])('%s %s', async (verb, _what, claimedAgo, completedAgo) => {
    await claimedBefore(claimedAgo, claimedAgo);
    if (completedAgo !== undefined) await completedBefore(completedAgo);
    await createIdempotencyStore(service.pool).purge(1_000);
    expect(await isKept()).toBe(verb === 'keeps');
  });

  it('deletes at most the given number at once', async () => {
    for (let n = 0; n < 3; n++) {
      key = randomUUID();
      await claimedBefore('49 hours', '49 hours');
    }
    const store = createIdempotencyStore(service.pool);
    expect([await store.purge(2), await store.purge(2), await store.purge(2)]).toEqual([2, 1, 0]);
  });
});

describe('an answer of over 256 Ki characters', () => {
  it('is not stored: the next request with the key repeats the command immediately', async () => {
    const store = createIdempotencyStore(service.pool);
    const request = { scope: 'long', key, fingerprint: Buffer.alloc(32), reserved: { id: 1 } };
    const first = await store.claim(request);
    if (first.outcome !== 'claimed') throw new Error(first.outcome);
    const answer = { status: 200, body: 'x'.repeat(256 * 1024 + 1) };
    await store.complete({ ...request, lease: first.lease }, answer);
    const { commandId, reserved } = first;
    expect(await store.claim({ ...request, reserved: { id: 2 } })).toMatchObject({ commandId, reserved });
  });
});

describe('a claim that was taken over', () => {
  it('is not released, and its lease not ended, by its former holder', async () => {
    const store = createIdempotencyStore(service.pool);
    const request = { scope: 'zombie', key, fingerprint: Buffer.alloc(32), reserved: {} };
    const first = await store.claim(request);
    if (first.outcome !== 'claimed') throw new Error(first.outcome);
    const zombie = { ...request, lease: first.lease };
    await service.pool.query('update idempotency_keys set lease_until = now() where key = $1', [key]);
    expect((await store.claim(request)).outcome).toBe('claimed');
    await store.release(zombie);
    await store.lapse(zombie);
    expect((await store.claim(request)).outcome).toBe('in-flight');
  });
});

describe('ids that a restored database returns again', () => {
  const forgetIds = (): Promise<unknown> => service.pool.query(`select setval('advertiser_ids', 1, false)`);

  it('are skipped: the retry creates the advertiser under a new id', async () => {
    const before = await account.api.get<AdvertiserResource[]>('/advertisers?status=ALL&take=200');
    await forgetIds();
    // A new process has none of the prefetched ids.
    const other = await startRunningService(service.stores);
    const api = apiOf(other.baseUrl, { Authorization: `Bearer ${account.apiKey}` });
    const send = () => api.post<AdvertiserResource>('/advertisers', body, { 'Idempotency-Key': key });
    const first = await send();
    expect([first.status, first.headers.get('retry-after')]).toEqual([503, '1']);
    const second = await untilDefinite(send);
    expect(second.status).toBe(201);
    expect(before.body.data.map(({ id }) => id)).not.toContain(second.body.data.id);
    expect((await send()).text).toBe(second.text);
    await other.stop();
  });
});
