import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { objectKeyOf, type ObjectKey, type ObjectStore } from '../../shared/storage/object-store.ts';

export interface ObjectStoreUnderTest {
  readonly store: ObjectStore;
  /** The draft files on this machine. */
  readonly drafts: () => Promise<readonly string[]>;
  /** The number of objects. */
  readonly count: () => Promise<number>;
  stop(): Promise<void>;
}

const newKey = (extension = 'png'): ObjectKey => {
  const key = objectKeyOf(
    `${randomBytes(16).toString('hex')}-${randomBytes(12).toString('hex')}.${extension}`,
  );
  if (key === undefined) throw new Error('no key');
  return key;
};

const textOf = async (stream: Readable | undefined): Promise<string | undefined> => {
  if (stream === undefined) return undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('hex');
};

export async function* chunksOf(bytes: Buffer, size = bytes.length): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Tests every promise of the object store. Every adapter runs them. */
export const objectStoreContract = (name: string, make: () => Promise<ObjectStoreUnderTest>): void => {
  describe(`${name}, an object store`, () => {
    let made: ObjectStoreUnderTest;
    let store: ObjectStore;
    beforeAll(async () => {
      made = await make();
      ({ store } = made);
    });
    afterAll(() => made.stop());

    const put = async (bytes: Buffer, key = newKey()): Promise<ObjectKey> => {
      const draft = await store.begin(key, 'image/png');
      await draft.write(chunksOf(bytes, 70_000));
      await draft.keep();
      return key;
    };

    it('returns what was written, in whole and in parts', async () => {
      const bytes = randomBytes(1_000_000);
      const key = await put(bytes);
      expect(await store.sizeOf(key)).toBe(bytes.length);
      expect(await textOf(await store.read(key))).toBe(bytes.toString('hex'));
      const ranges = [
        [0, 0],
        [1, 70_001],
        [999_990, 999_999],
      ] as const;
      for (const [first, last] of ranges) {
        const part = bytes.subarray(first, last + 1).toString('hex');
        expect(await textOf(await store.read(key, { first, last }))).toBe(part);
      }
      expect(await made.drafts()).toEqual([]);
    });

    it('shows a draft to its writer only, until it is kept', async () => {
      const before = await made.count();
      const draft = await store.begin(newKey(), 'image/png');
      await draft.write(chunksOf(Buffer.from('beginning'), 5));
      const seen = await draft.inspect(async ({ bytes, readAt }) => [
        bytes,
        String(await readAt(3, 100)),
        String(await readAt(0, 2)),
        String(await readAt(50, 2)),
      ]);
      expect(seen).toEqual([9, 'inning', 'be', '']);
      expect([await made.count(), (await made.drafts()).length]).toEqual([before, 1]);
      await draft.discard();
      expect([await made.count(), await made.drafts()]).toEqual([before, []]);
    });

    it('passes on the error that ended the bytes, and leaves no file after the draft is discarded', async () => {
      const before = await made.count();
      const draft = await store.begin(newKey(), 'image/png');
      const brokenOff = async function* (): AsyncGenerator<Buffer> {
        yield Buffer.alloc(100_000);
        throw new RangeError('the client went away');
      };
      await expect(draft.write(brokenOff())).rejects.toThrow(new RangeError('the client went away'));
      await draft.discard();
      expect([await made.count(), await made.drafts()]).toEqual([before, []]);
    });

    it('has no object under a key that was never written', async () => {
      const key = newKey();
      expect(await store.sizeOf(key)).toBeUndefined();
      expect(await store.read(key)).toBeUndefined();
      await store.remove(key);
    });

    it('deletes the removed object only', async () => {
      const [one, other] = [await put(Buffer.from('one')), await put(Buffer.from('other'))];
      await store.remove(one);
      await store.remove(one);
      expect([await store.sizeOf(one), await store.sizeOf(other)]).toEqual([undefined, 5]);
    });

    it('accepts many concurrent writes', async () => {
      const sizes = Array.from({ length: 20 }, (_, n) => 1 + n * 30_000);
      const keys = await Promise.all(sizes.map((size) => put(randomBytes(size))));
      expect(await Promise.all(keys.map((key) => store.sizeOf(key)))).toEqual(sizes);
    });

    it('answers while many objects are being read slowly', async () => {
      const key = await put(randomBytes(300_000));
      const reads = await Promise.all(Array.from({ length: 60 }, () => store.read(key)));
      expect(await store.sizeOf(key)).toBe(300_000);
      for (const stream of reads) stream?.destroy();
    });

    it('sweeps drafts that are no longer being written, and no others', async () => {
      const draft = await store.begin(newKey(), 'image/png');
      await draft.write(chunksOf(Buffer.from('left behind')));
      expect(await store.sweep(60_000)).toBe(0);
      await sleep(20);
      expect(await store.sweep(10)).toBe(1);
      expect(await made.drafts()).toEqual([]);
    });

    it('reports that it works', async () => {
      await store.check();
    });
  });
};
