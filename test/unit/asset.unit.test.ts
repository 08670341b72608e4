import { describe, expect, it } from '@jest/globals';
import type { AssetReserved, AssetUploaded } from '../../domain/assets/events.ts';
import { assetAggregate } from '../../domain/assets/asset.ts';
import {
  assetIdOf,
  assetIdOfUpload,
  assetResource,
  shownAssetId,
  shownUploadId,
} from '../../domain/assets/resource.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(assetAggregate);
const [at, now] = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:01:00.000Z'];
const assetId = '11111111-2222-5333-8444-555555555555';

const asset: AssetReserved = {
  assetId,
  customerId: 7,
  advertiserId: 8,
  name: 'Hero',
  mimeType: 'image/png',
  mediaKind: 'image',
  source: 'uploaded',
  bytesMax: 1_000,
  width: 1,
  durationMs: 5,
  expiresAt: '2026-01-01T00:15:00.000Z',
};
const upload: AssetUploaded = { storageKey: 'ab-1.png', bytes: 10, sha256: 'aa', width: 300, height: 250 };
const reserved = { type: 'AssetReserved', data: asset, occurredAt: at } as const;
const uploaded = { type: 'AssetUploaded', data: upload, occurredAt: at } as const;
const expired = { type: 'AssetReservationExpired', data: {}, occurredAt: at } as const;
const removed = { type: 'AssetRemoved', data: {}, occurredAt: at } as const;
const complete = (change: Partial<AssetUploaded> = {}) =>
  ({ type: 'CompleteUpload', now, upload: { ...upload, ...change } }) as const;

describe('a reservation', () => {
  it('can be made only once', () => {
    given().when({ type: 'ReserveAsset', now: at, asset }).then(reserved);
    given(reserved).when({ type: 'ReserveAsset', now, asset }).thenRefused({ reason: 'already-exists' });
  });
  it('expires only without an upload', () => {
    given(reserved)
      .when({ type: 'ExpireReservation', now })
      .then({ ...expired, occurredAt: now });
    given(reserved, uploaded).when({ type: 'ExpireReservation', now }).thenNothing();
    given(reserved, expired).when({ type: 'ExpireReservation', now }).thenNothing();
    given().when({ type: 'ExpireReservation', now }).thenNothing();
  });
});

describe('an upload', () => {
  it('completes a reservation', () => {
    given(reserved)
      .when(complete())
      .then({ ...uploaded, occurredAt: now });
  });
  it('repeated with the same bytes changes nothing; other bytes are refused', () => {
    given(reserved, uploaded)
      .when(complete({ storageKey: 'ab-2.png' }))
      .thenNothing();
    given(reserved, uploaded)
      .when(complete({ sha256: 'bb' }))
      .thenRefused({ reason: 'other-bytes' });
  });
  it('is refused after expiry, after deletion, and without a reservation', () => {
    given(reserved, expired).when(complete()).thenRefused({ reason: 'gone' });
    given(reserved, uploaded, removed).when(complete()).thenRefused({ reason: 'gone' });
    given().when(complete()).thenRefused({ reason: 'not-found' });
  });
});

describe('an asset', () => {
  it('can be deleted after its upload', () => {
    given(reserved, uploaded)
      .when({ type: 'RemoveAsset', now })
      .then({ ...removed, occurredAt: now });
    for (const history of [[], [reserved], [reserved, expired], [reserved, uploaded, removed]]) {
      given(...history)
        .when({ type: 'RemoveAsset', now })
        .thenRefused({ reason: 'not-found' });
    }
  });
  it('takes its properties from the bytes, or from the buyer if the bytes do not contain them', () => {
    const state = given(reserved)
      .when(complete({ durationMs: undefined }))
      .state();
    if (state.status !== 'READY' || !('storageKey' in state)) throw new Error(state.status);
    const { height: _, ...unsaid } = upload;
    const other = given(reserved, { type: 'AssetUploaded', data: unsaid, occurredAt: now }).state();
    expect(other).toMatchObject({ width: 300, durationMs: 5 });
    expect(assetResource(state, 'https://x')).toMatchObject({
      id: 'ast_11111111222253338444555555555555',
      url: 'https://x/assets/ab-1.png',
      createdAt: now,
      updatedAt: now,
      width: 300,
      height: 250,
    });
  });
  it('has an id that converts back to its UUID', () => {
    expect(assetIdOf(shownAssetId(assetId))).toBe(assetId);
    expect(assetIdOfUpload(shownUploadId(assetId))).toBe(assetId);
    for (const text of ['', assetId, shownUploadId(assetId), `${shownAssetId(assetId)}0`, 'ast_'])
      expect(assetIdOf(text)).toBeUndefined();
    expect(assetIdOfUpload(shownAssetId(assetId))).toBeUndefined();
  });
});
