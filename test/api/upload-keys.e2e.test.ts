import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { assetIdOf } from '../../domain/assets/resource.ts';
import { assetStream } from '../../domain/assets/asset.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import {
  reserve,
  send,
  storedFiles,
  strayUploads,
  type Reservation,
  type UploadAnswer,
} from '../support/uploads.ts';

/** Idempotency keys of uploads: endpoints 12 and 13. */

let service: RunningService;
let account: TestAccount;
let advertiser: number;
/** A new key for every test. */
let key: string;
let reservation: Reservation;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
beforeEach(async () => {
  key = `upload-${randomBytes(8).toString('hex')}`;
  advertiser = (await account.api.post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data.id;
  reservation = await reserved();
});
afterAll(() => service.stop());

const text = (content: string): Buffer => Buffer.from(content);
const reserved = async (): Promise<Reservation> =>
  (await reserve(account.api, advertiser, { name: 'Copy', mimeType: 'text/plain' })).body.data;
const put = (
  bytes: Buffer,
  { idempotencyKey = key, method = 'PUT', to = reservation } = {},
): Promise<UploadAnswer> =>
  send(to.uploadUrl, bytes, { method, headers: { 'Idempotency-Key': idempotencyKey } });
const eventsOf = async ({ assetId }: Reservation): Promise<readonly string[]> =>
  (await service.eventsOf(assetStream(account.customerId, assetIdOf(assetId) ?? ''))).map(({ type }) => type);
const outcomeOf = ({ status, error, headers }: UploadAnswer) => [
  status,
  error?.code ?? null,
  headers.get('idempotent-replayed'),
];
const expectReplay = (first: UploadAnswer, second: UploadAnswer): void => {
  expect(outcomeOf(first)).toEqual([200, null, null]);
  expect([...outcomeOf(second), second.text]).toEqual([200, null, 'true', first.text]);
};
/** Resets the claim as if the answer had never been stored. */
const uncomplete = (): Promise<unknown> =>
  service.pool.query(
    `update idempotency_keys set completed_at = null, status = null, body = null, lease_until = now()
     where key = $1`,
    [key],
  );
const forgetClaim = (): Promise<unknown> =>
  service.pool.query('delete from idempotency_keys where key = $1', [key]);

describe('the same bytes with the same key', () => {
  it.each([
    ['PUT', 'PUT'],
    ['POST', 'POST'],
    ['PUT', 'POST'],
    ['POST', 'PUT'],
  ])('by %s and by %s return the first answer and create one asset', async (one, other) => {
    const first = await put(text('one'), { method: one });
    expectReplay(first, await put(text('one'), { method: other }));
    expect(await eventsOf(reservation)).toEqual(['AssetReserved', 'AssetUploaded']);
    expect(await strayUploads(service.pool, service.dataDir)).toEqual([]);
  });

  it('return it although the asset was deleted since, or its advertiser archived', async () => {
    const first = await put(text('one'));
    await account.api.delete(`/advertisers/${advertiser}/assets/${reservation.assetId}`);
    expectReplay(first, await put(text('one')));
    await account.api.delete(`/advertisers/${advertiser}`);
    expectReplay(first, await put(text('one')));
    expect(outcomeOf(await put(text('one'), { idempotencyKey: `${key}-2` }))).toEqual([
      409,
      'CONFLICT',
      null,
    ]);
  });

  it.each([
    ['was never completed', uncomplete],
    ['is lost', forgetClaim],
  ])('return it although the claim of the key %s', async (_what, change) => {
    const first = await put(text('one'));
    await change();
    expectReplay(first, await put(text('one')));
    expect(await eventsOf(reservation)).toEqual(['AssetReserved', 'AssetUploaded']);
  });

  it('sent concurrently create one asset and leave no other file', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => put(text('one'))));
    for (const answer of answers) {
      expect([200, 409]).toContain(answer.status);
      if (answer.status === 409) expect(answer.error?.code).toBe('IDEMPOTENCY_IN_FLIGHT');
    }
    expect(answers.filter((answer) => outcomeOf(answer).join() === '200,,').length).toBe(1);
    expect(await eventsOf(reservation)).toEqual(['AssetReserved', 'AssetUploaded']);
    const { objects } = await storedFiles(service.dataDir);
    const prefix = (assetIdOf(reservation.assetId) ?? '').replaceAll('-', '');
    expect(objects.filter((object) => object.startsWith(prefix)).length).toBe(1);
  });
});

describe('another request', () => {
  it('with other bytes and the same key is refused and has no effect', async () => {
    const first = await put(text('one'));
    const other = await put(text('two'));
    expect([other.status, other.error?.code, other.error?.field]).toEqual([
      409,
      'IDEMPOTENCY_CONFLICT',
      'Idempotency-Key',
    ]);
    expectReplay(first, await put(text('one')));
  });

  it('with the same bytes and another key is not a replay', async () => {
    await put(text('one'));
    const again = await put(text('one'), { idempotencyKey: `${key}-2` });
    expect(outcomeOf(again)).toEqual([200, null, null]);
    expect(await eventsOf(reservation)).toEqual(['AssetReserved', 'AssetUploaded']);
  });

  it('with other bytes and another key, or none, is refused after the upload has finished', async () => {
    await put(text('one'));
    expect(outcomeOf(await put(text('two'), { idempotencyKey: `${key}-2` }))).toEqual([
      409,
      'CONFLICT',
      null,
    ]);
    expect(outcomeOf(await send(reservation.uploadUrl, text('two')))).toEqual([409, 'CONFLICT', null]);
  });

  it('to another upload may have the same key: its scope is the upload', async () => {
    const other = await reserved();
    await put(text('one'));
    expect(outcomeOf(await put(text('two'), { to: other }))).toEqual([200, null, null]);
    expect(outcomeOf(await put(text('two'), { to: other }))).toEqual([200, null, 'true']);
  });

  it('to another route may have the same key', async () => {
    await put(text('one'));
    const created = await account.api.post('/advertisers', { name: 'Acme' }, { 'Idempotency-Key': key });
    expect([created.status, created.headers.get('idempotent-replayed')]).toEqual([201, null]);
  });
});

describe('a refused upload', () => {
  it('leaves its key free', async () => {
    const promised = await reserve(account.api, advertiser, {
      name: 'Copy',
      mimeType: 'text/plain',
      bytes: 3,
    });
    const to = promised.body.data;
    expect((await put(text('four'), { to })).status).toBe(413);
    expect(outcomeOf(await put(text('one'), { to }))).toEqual([200, null, null]);
  });

  it('names an invalid key', async () => {
    const { status, error } = await put(text('one'), { idempotencyKey: 'short' });
    expect([status, error?.code, error?.field]).toEqual([400, 'VALIDATION_ERROR', 'Idempotency-Key']);
  });
});
