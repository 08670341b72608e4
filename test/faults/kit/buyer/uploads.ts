import { createHash } from 'node:crypto';
import {
  assetIdOf,
  shownAssetId,
  shownUploadId,
  type ReservedAsset,
  type StoredAsset,
} from '../../../../domain/assets/resource.ts';
import { assetStream } from '../../../../domain/assets/asset.ts';
import { derivedId } from '../../../../shared/aggregate/ids.ts';
import { png } from '../../../support/sample-media.ts';
import type { Command } from '../command.ts';
import type { Random } from '../random.ts';
import { REFUSED_PROBABILITY, type Choice, type ClientState, type OwnAsset } from './client-state.ts';

const PADDING_MAX = 20_000;

const streamOf = (own: ClientState, shownId: string): string =>
  assetStream(own.customerId, assetIdOf(shownId) ?? '');

export const reserveUpload = (
  own: ClientState,
  home: { readonly id: number },
  key: string,
  random: Random,
): Command => {
  const bytes = png(1 + random.below(1_000), 1 + random.below(1_000), random.below(PADDING_MAX));
  return {
    kind: `reserve upload ${key}`,
    method: 'POST',
    url: `/api/v2/buyer/advertisers/${home.id}/assets/uploads`,
    body: { name: key, mimeType: 'image/png', bytes: bytes.length },
    sent: 'keyed',
    expected: 'ok',
    status: 201,
    event: 'AssetReserved',
    stream: ({ assetId }) => streamOf(own, assetId as string),
    answer: ({ state, data: { uploadUrl } }) => {
      const { assetId, bytesMax, expiresAt } = state as ReservedAsset;
      return {
        uploadId: shownUploadId(assetId),
        assetId: shownAssetId(assetId),
        // The address is signed. The upload to it proves that it is correct.
        uploadUrl,
        method: 'PUT',
        headers: { 'Content-Type': 'application/octet-stream' },
        maxBytes: bytesMax,
        expiresAt,
      };
    },
    done: ({ assetId, uploadUrl }) => {
      const { pathname, search } = new URL(uploadUrl as string);
      own.assets.push({ id: assetId as string, url: pathname + search, bytes, status: 'RESERVED' });
      return undefined;
    },
    lost: () => undefined,
  };
};

export const commandOnAsset = (
  own: ClientState,
  home: { readonly id: number },
  target: OwnAsset,
  random: Random,
): Choice => {
  const url = `/api/v2/buyer/advertisers/${home.id}/assets/${target.id}`;
  const base = {
    stream: () => streamOf(own, target.id),
    lost: () => void own.assets.splice(own.assets.indexOf(target), 1),
  } satisfies Partial<Command>;
  if (target.status !== 'RESERVED' && random.chance(0.6)) {
    return {
      ...base,
      kind: `remove asset ${target.id}`,
      method: 'DELETE',
      url,
      sent: 'keyed',
      expected: target.status === 'READY' ? 'ok' : 'refused',
      status: 204,
      event: 'AssetRemoved',
      answer: () => undefined,
      done: () => {
        target.status = 'REMOVED';
        return { url, shown: undefined };
      },
    };
  }
  // Sends other bytes to an upload that has its bytes already. The first bytes stay.
  const isOther = target.status !== 'RESERVED';
  const bytes = isOther ? png(1_001, 1 + random.below(1_000)) : target.bytes;
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return {
    ...base,
    kind: `upload ${target.id}`,
    method: random.chance(REFUSED_PROBABILITY * 5) ? 'POST' : 'PUT',
    url: target.url,
    body: bytes,
    sent: 'repeatable',
    expected: isOther ? 'refused' : 'ok',
    status: 200,
    event: 'AssetUploaded',
    isOver: () => target.status === 'REMOVED',
    causedBy: () => derivedId(assetIdOf(target.id) ?? '', sha256),
    answer: ({ state }) => {
      const { assetId, bytes: length } = state as StoredAsset;
      return { assetId: shownAssetId(assetId), bytes: length };
    },
    done: () => {
      target.status = 'READY';
      return { url, shown: { id: target.id, bytes: bytes.length, mimeType: 'image/png' } };
    },
  };
};
