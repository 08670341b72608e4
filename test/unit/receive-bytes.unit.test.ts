import { createHash, randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { createSeeing, receiveBytes } from '../../src/command/assets/receive-bytes.ts';
import type { ReservedAsset } from '../../src/domain/assets/asset-resource.ts';
import type { IncomingBytes } from '../../src/shared/http/incoming-bytes.ts';
import { sleep } from '../../src/shared/backoff.ts';

const reserved: ReservedAsset = {
  assetId: 'a',
  customerId: 1,
  advertiserId: 1,
  name: 'A',
  mimeType: 'application/octet-stream',
  mediaKind: 'other',
  source: 'uploaded',
  bytesMax: 10_000_000,
  expiresAt: '',
  status: 'RESERVED',
  createdAt: '',
  updatedAt: '',
};
const expected = { asset: reserved, withinMs: 60_000 };

const KB = 1_024;

/** A body that comes in chunks of `size` bytes. */
const bodyOf = (bytes: Buffer, size = 65_536): IncomingBytes => ({
  length: undefined,
  read: async (_, take) => {
    for (let at = 0; at < bytes.length; at += size) await take(bytes.subarray(at, at + size));
  },
});

it('gives each chunk to the draft in order, and the next one when it may', async () => {
  const bytes = randomBytes(1_000_001);
  const taken: Buffer[] = [];
  let isBusy = false;
  const write = (chunk: Buffer): Promise<void> | undefined => {
    expect(isBusy).toBe(false);
    taken.push(Buffer.from(chunk));
    if (taken.length % 3 !== 0) return undefined;
    isBusy = true;
    return sleep(2).then(() => void (isBusy = false));
  };
  const digest = async (): Promise<string> => 'its sum';
  expect(await receiveBytes(bodyOf(bytes), expected, { write, digest })).toEqual({
    bytes: bytes.length,
    sha256: 'its sum',
  });
  expect(Buffer.concat(taken).equals(bytes)).toBe(true);
});

it('only sees what they are', async () => {
  const bytes = randomBytes(1_000_001);
  expect(await receiveBytes(bodyOf(bytes), expected, createSeeing())).toEqual({
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
});

it('ends at what the draft says', async () => {
  const write = (): Promise<void> => Promise.reject(new Error('full'));
  const refused = receiveBytes(bodyOf(randomBytes(100_000)), expected, { ...createSeeing(), write });
  await expect(refused).rejects.toThrow('full');
});

it('gives back the memory of its chunks', async () => {
  const chunks = Array.from({ length: 40 }, () => Buffer.from(new ArrayBuffer(64 * KB)));
  const incoming: IncomingBytes = {
    length: undefined,
    read: async (_, take) => {
      for (const chunk of chunks) await take(chunk);
    },
  };
  const { bytes } = await receiveBytes(incoming, expected, createSeeing());
  expect(bytes).toBe(40 * 64 * KB);
  // Some at a time.
  expect(chunks.filter(({ length }) => length > 0).length).toBeLessThan(16);
});
