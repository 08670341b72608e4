import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, open, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { constants } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sleep } from '../../src/shared/backoff.ts';
import { createDiskFile, type DiskFile } from '../../src/shared/storage/disk-file.ts';
import { ObjectStoreUnavailableError } from '../../src/shared/storage/object-store.ts';
import { createSums, type Sum } from '../../src/shared/storage/sha256.ts';
import { createSlabs, SLAB_BYTES } from '../../src/shared/storage/slabs.ts';
import { createSpoolFile } from '../../src/shared/storage/spool-file.ts';
import { createSpool, slabsOfPiece } from '../../src/shared/storage/spool.ts';
import { amount } from '../support/amount.ts';

let folder: string;
/** Not every file system can. */
let canBePastCache: boolean;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'spool-'));
  const path = join(folder, 'probe');
  const probe = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_DIRECT).catch(
    () => undefined,
  );
  canBePastCache = probe !== undefined;
  await probe?.close();
  await rm(path);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Whether this process writes to a file past the system's cache, as the system says (Linux). */
const isPastCache = async (path: string): Promise<boolean> => {
  for (const fd of await readdir('/proc/self/fd')) {
    if ((await readlink(join('/proc/self/fd', fd)).catch(() => '')) !== path) continue;
    const { groups } =
      /flags:\s+(?<flags>[0-7]+)/.exec(await readFile(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? {};
    return (parseInt(groups?.['flags'] ?? '0', 8) & constants.O_DIRECT) !== 0;
  }
  throw new Error(`${path} is not open`);
};

describe.each([true, false])('a file of a spool (to last: %s)', (isToLast) => {
  const sizes = fc.oneof(
    fc.integer({ min: 1, max: 300 }),
    fc.integer({ min: 1, max: 3 * SLAB_BYTES }),
    fc.constantFrom(4_096, 65_536, SLAB_BYTES, SLAB_BYTES - 1, 8 * SLAB_BYTES),
  );
  const step = fc.record({ bytes: sizes, thenReads: fc.boolean() });

  it('holds what was written, whatever the chunks, also when it is read in between', async () => {
    const spool = createSpool(folder, isToLast);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const file = await spool.create();
        const all: Buffer[] = [];
        for (const { bytes, thenReads } of steps) {
          const chunk = randomBytes(bytes);
          all.push(Buffer.from(chunk));
          const isTaken = file.write(chunk);
          // It is copied.
          chunk.fill(0);
          await isTaken;
          if (!thenReads) continue;
          const sofar = Buffer.concat(all);
          const from = Math.max(0, sofar.length - 100);
          expect(await file.readAt(from, 5_000)).toEqual(sofar.subarray(from));
        }
        const whole = Buffer.concat(all);
        expect(file.bytes).toBe(whole.length);
        expect(await file.digest()).toBe(createHash('sha256').update(whole).digest('hex'));
        await (isToLast ? file.sync() : file.flush());
        await file.close();
        expect((await readFile(file.path)).equals(whole)).toBe(true);
        await spool.remove(file);
      }),
      { numRuns: amount(60, 2_000) },
    );
    expect(await readdir(folder)).toEqual([]);
  });
});

it('what is to last goes past the cache of the system, to the end', async () => {
  const spool = createSpool(folder, true);
  const file = await spool.create();
  for (let at = 0; at < 5_000_001; at += 50_001) await file.write(randomBytes(50_001));
  await file.sync();
  expect(await isPastCache(file.path)).toBe(canBePastCache);
  await file.close();
  await spool.remove(file);
});

it('what cannot be written past the cache is written through it', async () => {
  const path = join(folder, 'unaligned');
  const file = await createDiskFile(path, true);
  const bytes = createSlabs().take();
  bytes.set(randomBytes(SLAB_BYTES));
  await file.write([bytes], 0);
  expect(await isPastCache(path)).toBe(canBePastCache);
  await file.write([bytes.subarray(1, 4_097), bytes.subarray(7, 10)], SLAB_BYTES);
  expect(await isPastCache(path)).toBe(false);
  await file.write([bytes.subarray(0, 5)], SLAB_BYTES + 4_099);
  await file.sync();
  await file.close();
  const expected = Buffer.concat([
    bytes,
    bytes.subarray(1, 4_097),
    bytes.subarray(7, 10),
    bytes.subarray(0, 5),
  ]);
  expect((await readFile(path)).equals(expected)).toBe(true);
  await rm(path);
});

/** A disk that takes its time, and may be full. */
const slowDisk = () => {
  const written: Buffer[][] = [];
  let isWriting = false;
  let fullAt = Infinity;
  const file: DiskFile = {
    write: async (chunks) => {
      expect(isWriting).toBe(false);
      isWriting = true;
      await sleep(5);
      isWriting = false;
      if (written.length >= fullAt) throw new Error('ENOSPC');
      written.push(chunks.map((chunk) => Buffer.from(chunk)));
    },
    readAt: async () => Buffer.alloc(0),
    truncate: async () => undefined,
    sync: async () => undefined,
    close: async () => undefined,
  };
  return { file, written, fillUp: () => (fullAt = written.length) };
};

/** Slabs, of which it is known how many are in use. */
const countedSlabs = () => {
  const slabs = createSlabs();
  const taken = new Set<Buffer>();
  return {
    taken,
    take: () => {
      const slab = slabs.take();
      expect(taken.has(slab)).toBe(false);
      taken.add(slab);
      return slab;
    },
    give: (slab: Buffer) => {
      expect(taken.delete(slab)).toBe(true);
      slabs.give(slab);
    },
  };
};

/** A sum that takes longer than the disk. */
const slowSum = (): Sum & { readonly summed: Buffer[]; isForgotten: boolean } => {
  const summed: Buffer[] = [];
  return {
    summed,
    isForgotten: false,
    add: async (bytes) => {
      await sleep(10);
      summed.push(...bytes.map((part) => Buffer.from(part)));
    },
    digest: async () => '',
    forget() {
      this.isForgotten = true;
    },
  };
};

it('writes a piece while the next is gathered, and has no more in memory', async () => {
  const [disk, slabs, sum] = [slowDisk(), countedSlabs(), slowSum()];
  const file = createSpoolFile('', {
    file: disk.file,
    slabs,
    sum,
    slabsOfPiece: () => 4,
    onClose: () => undefined,
  });
  const bytes = randomBytes(30 * SLAB_BYTES + 1_000);
  for (let at = 0; at < bytes.length; at += 50_001) {
    await file.write(bytes.subarray(at, at + 50_001));
    // And what came with the end of a piece.
    expect(slabs.taken.size).toBeLessThanOrEqual(9);
  }
  await file.flush();
  await file.close();
  expect(disk.written.slice(0, -1).map(({ length }) => length)).toEqual(Array.from({ length: 7 }, () => 4));
  expect(Buffer.concat(disk.written.flat()).subarray(0, bytes.length).equals(bytes)).toBe(true);
  // What was in the memory before is nobody's business.
  expect(
    Buffer.concat(disk.written.flat())
      .subarray(bytes.length)
      .every((byte) => byte === 0),
  ).toBe(true);
  expect(Buffer.concat(sum.summed).equals(bytes.subarray(0, 28 * SLAB_BYTES))).toBe(true);
  expect([slabs.taken.size, sum.isForgotten]).toEqual([0, true]);
});

it('what a disk refuses is said before more is taken, or in the end; its memory is free', async () => {
  const [disk, slabs] = [slowDisk(), countedSlabs()];
  let closed = 0;
  const begin = () =>
    createSpoolFile('', {
      file: disk.file,
      slabs,
      sum: slowSum(),
      slabsOfPiece: () => 1,
      onClose: () => (closed += 1),
    });
  disk.fillUp();
  const [one, other] = [begin(), begin()];
  await one.write(Buffer.alloc(SLAB_BYTES));
  await expect(one.write(Buffer.alloc(SLAB_BYTES))).rejects.toThrow(ObjectStoreUnavailableError);
  await other.write(Buffer.alloc(100));
  await expect(other.sync()).rejects.toThrow(ObjectStoreUnavailableError);
  await one.close();
  await other.close();
  expect([slabs.taken.size, closed]).toEqual([0, 2]);
});

it('slabs share no memory, also those of many', () => {
  const slabs = createSlabs();
  const many = Array.from({ length: 300 }, () => slabs.take());
  many.forEach((slab, n) => slab.fill(n % 251));
  expect(many.every((slab, n) => slab.length === SLAB_BYTES && slab.every((byte) => byte === n % 251))).toBe(
    true,
  );
  for (const slab of many) slabs.give(slab);
  expect(new Set(Array.from({ length: 300 }, () => slabs.take())).size).toBe(300);
});

it('a thread of sums that ends takes its sums with it, and no others', async () => {
  const sums = createSums();
  const slab = createSlabs().take().fill(7);
  const [one, other] = [sums.begin(), sums.begin()];
  await one.add([slab]);
  await other.add([slab]);
  // Nothing that it could sum up.
  const ended = one.add([{} as Buffer]);
  const meanwhile = other.digest([]);
  await expect(ended).rejects.toThrow(ObjectStoreUnavailableError);
  await expect(meanwhile).rejects.toThrow(ObjectStoreUnavailableError);
  await expect(other.add([slab])).rejects.toThrow(ObjectStoreUnavailableError);
  other.forget();
  const next = sums.begin();
  const digests: string[] = [];
  for (let n = 0; n < 20; n += 1) {
    const another = sums.begin();
    await another.add([slab]);
    digests.push(await another.digest([]));
    // The end of the other one is told more than once.
    await sleep(1);
  }
  await next.add([slab]);
  digests.push(await next.digest([]));
  expect(new Set(digests)).toEqual(new Set([createHash('sha256').update(slab).digest('hex')]));
});

it('memory that was in use before is used before any other', () => {
  const slabs = createSlabs();
  const many = () => Array.from({ length: 300 }, () => slabs.take());
  const before = many();
  for (const slab of before) slabs.give(slab);
  const memories = new Set(before.map(({ buffer }) => buffer));
  expect(memories.size).toBe(3);
  for (const slab of many()) memories.add(slab.buffer);
  expect(memories.size).toBe(3);
});

it('is closed while a piece is still to be written: behind it', async () => {
  const [disk, slabs] = [slowDisk(), countedSlabs()];
  let isClosed = false;
  const file: DiskFile = {
    ...disk.file,
    write: async (...asked) => {
      await disk.file.write(...asked);
      expect(isClosed).toBe(false);
    },
    close: async () => void (isClosed = true),
  };
  const spooled = createSpoolFile('', {
    file,
    slabs,
    sum: slowSum(),
    slabsOfPiece: () => 1,
    onClose: () => undefined,
  });
  await spooled.write(Buffer.alloc(SLAB_BYTES));
  const writing = spooled.write(Buffer.alloc(SLAB_BYTES + 1));
  await spooled.close();
  await writing;
  expect([disk.written.length, slabs.taken.size]).toEqual([2, 0]);
});

it.each([
  [1, 16],
  [4, 16],
  [8, 8],
  [16, 4],
  [64, 1],
  [2_000, 1],
])('a piece of each of %i files has %i slabs', (files, slabs) => expect(slabsOfPiece(files)).toBe(slabs));

it('sums of many at once are their own', async () => {
  const sums = createSums();
  const slabs = createSlabs();
  const sumOf = async (n: number): Promise<boolean> => {
    const hash = createHash('sha256');
    const sum = sums.begin();
    const slab = slabs.take();
    for (let piece = 0; piece < n; piece += 1) {
      slab.fill(randomBytes(1_000));
      hash.update(slab);
      await sum.add([slab]);
    }
    const last = slab.subarray(0, n);
    slabs.give(slab);
    return (await sum.digest([last])) === hash.update(last).digest('hex');
  };
  const isRight = await Promise.all(Array.from({ length: 20 }, (_, n) => sumOf(n)));
  expect(isRight).toEqual(isRight.map(() => true));
});
