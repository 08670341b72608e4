import { createHash, randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { createReceiveBytes } from '../../src/command/assets/receive-bytes.ts';
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
const expected = { asset: reserved, withinMs: 60_000 };

const KB = 1_024;

/** Chunks of `size` bytes of `bytes`. */
async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

it.each([1, 100, 8_191, 65_536, 131_072, 300_001])(
  'chunks of %i bytes are written in order',
  async (size) => {
    const bytes = randomBytes(Math.min(2_500_000, size * 40_000));
    const written: Buffer[] = [];
    let writing = 0;
    const write = async (piece: readonly Buffer[]): Promise<void> => {
      expect(++writing).toBe(1);
      expect(piece.length).toBeLessThanOrEqual(256);
      // What is being written may not change meanwhile.
      await sleep(5);
      written.push(Buffer.concat(piece));
      writing -= 1;
    };
    const incoming = { length: undefined, open: () => chunksOf(bytes, size) };
    const received = await createReceiveBytes()(incoming, expected, { write });
    expect(received).toEqual({
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
    expect(Buffer.concat(written).equals(bytes)).toBe(true);
    expect(Math.max(...written.map(({ length }) => length))).toBeLessThan(KB * KB + Math.max(size, 8_192));
  },
);

it.each([
  [1, 1_024],
  [16, 512],
  [100, 128],
])('pieces of %i uploads at once have %i KiB', async (uploads, pieceKb) => {
  const receive = createReceiveBytes();
  const bytes = randomBytes(2_000_000);
  const lengths: number[] = [];
  let free = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (free = resolve));
  let begun = 0;
  const incoming = {
    length: undefined,
    open: async function* () {
      if (++begun === uploads) free();
      await arrived;
      yield* chunksOf(bytes, 64 * KB);
    },
  };
  const write = async (piece: readonly Buffer[]): Promise<void> => {
    lengths.push(piece.reduce((sum, { length }) => sum + length, 0));
  };
  await Promise.all(Array.from({ length: uploads }, () => receive(incoming, expected, { write })));
  expect(lengths[0]).toBe(pieceKb * KB);
});

it.each([true, false])(
  'memory of chunks is given back once they are written (to a draft: %s)',
  async (isKept) => {
    const chunks = Array.from({ length: 40 }, () => Buffer.from(new ArrayBuffer(64 * KB)));
    const written: number[] = [];
    const write = async (piece: readonly Buffer[]): Promise<void> => {
      await sleep(5);
      written.push(...piece.map(({ length }) => length));
    };
    const incoming = {
      length: undefined,
      open: async function* () {
        yield* chunks;
      },
    };
    const { bytes } = await createReceiveBytes()(incoming, expected, isKept ? { write } : undefined);
    expect(bytes).toBe(40 * 64 * KB);
    expect(written).toEqual(isKept ? chunks.map(() => 64 * KB) : []);
    expect(chunks.map(({ length }) => length)).toEqual(chunks.map(() => 0));
  },
);
