import { createHash, randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { dropBytes, receiveBytes } from '../../command/assets/receive-bytes.ts';
import type { ReservedAsset } from '../../domain/assets/resource.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { IncomingBytes } from '../../shared/http/incoming-bytes.ts';

const BYTES_MAX = 2_000_000;

const reserved: ReservedAsset = {
  assetId: 'a',
  customerId: 1,
  advertiserId: 1,
  name: 'A',
  mimeType: 'application/octet-stream',
  mediaKind: 'other',
  source: 'uploaded',
  bytesMax: BYTES_MAX,
  expiresAt: '',
  status: 'RESERVED',
  createdAt: '',
  updatedAt: '',
};
const expected = { asset: reserved, withinMs: 60_000 };

const bodyOf = (bytes: Buffer, size = 65_536): IncomingBytes => ({
  length: undefined,
  read: async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  },
});

it('writes all bytes to the draft in order, and returns their count and checksum', async () => {
  const bytes = randomBytes(1_000_001);
  const written: Buffer[] = [];
  const write = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) written.push(chunk);
  };
  const received = { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  expect(await receiveBytes(bodyOf(bytes), expected, write)).toEqual(received);
  expect(Buffer.concat(written).equals(bytes)).toBe(true);
  expect(await receiveBytes(bodyOf(bytes), expected, dropBytes)).toEqual(received);
});

it('accepts no chunk beyond the reserved size', async () => {
  let written = 0;
  const write = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) written += chunk.length;
  };
  const received = receiveBytes(bodyOf(randomBytes(BYTES_MAX + 1)), expected, write);
  await expect(received).rejects.toThrow(ApiError);
  await expect(received).rejects.toMatchObject({ body: { code: 'PAYLOAD_TOO_LARGE' } });
  expect(written).toBeLessThanOrEqual(BYTES_MAX);
});

it('fails if the draft fails', async () => {
  const write = (): Promise<void> => Promise.reject(new Error('full'));
  await expect(receiveBytes(bodyOf(randomBytes(100_000)), expected, write)).rejects.toThrow('full');
});
