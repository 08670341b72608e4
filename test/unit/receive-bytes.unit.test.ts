import { createHash, randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { receiveBytes } from '../../src/command/assets/receive-bytes.ts';
import type { ReservedAsset } from '../../src/domain/assets/asset-resource.ts';
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

it.each([1, 100, 8_191, 65_536, 131_072, 300_001])(
  'chunks of %i bytes are written in order',
  async (size) => {
    const bytes = randomBytes(Math.min(600_000, size * 40_000));
    async function* chunks(): AsyncGenerator<Buffer> {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    }
    const written: Buffer[] = [];
    let writing = 0;
    const write = async (piece: readonly Buffer[]): Promise<void> => {
      expect(++writing).toBe(1);
      expect(piece.length).toBeLessThanOrEqual(32);
      // What is being written may not change meanwhile.
      await sleep(5);
      written.push(Buffer.concat(piece));
      writing -= 1;
    };
    const received = await receiveBytes({ length: undefined, open: chunks }, reserved, { write });
    expect(received).toEqual({
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
    expect(Buffer.concat(written).equals(bytes)).toBe(true);
    expect(Math.max(...written.map(({ length }) => length))).toBeLessThan(131_072 + Math.max(size, 8_192));
  },
);
