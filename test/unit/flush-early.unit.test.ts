import { expect, it } from '@jest/globals';
import { createFlushEarly } from '../../src/shared/storage/flush-early.ts';

const MB = 1024 * 1024;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A file whose flushes end when they are told to. */
const slowFile = () => {
  const flushes: { end(): void; fail(): void }[] = [];
  const datasync = (): Promise<void> =>
    new Promise((resolve, reject) => {
      flushes.push({ end: resolve, fail: () => reject(new Error('EIO')) });
    });
  return { datasync, flushes };
};

it('flushes every 4 MiB, once at a time for each file and twice for all', async () => {
  const flushEarly = createFlushEarly();
  const [one, two, three] = [slowFile(), slowFile(), slowFile()];
  const early = [one, two, three].map((file) => flushEarly(file));
  const begun = () => [one, two, three].map(({ flushes }) => flushes.length);
  const allWritten = (bytes: number) => early.forEach((each) => each.written(bytes));
  allWritten(4 * MB - 1);
  expect(begun()).toEqual([0, 0, 0]);
  allWritten(4 * MB);
  expect(begun()).toEqual([1, 1, 0]);
  allWritten(8 * MB);
  expect(begun()).toEqual([1, 1, 0]);
  one.flushes[0]?.end();
  await settled();
  // Of the others there was no turn left.
  early[2]?.written(8 * MB);
  early[0]?.written(8 * MB);
  expect(begun()).toEqual([1, 1, 1]);
});

it('tells of a failure in the end, also after a flush that went well', async () => {
  const file = slowFile();
  const early = createFlushEarly()(file);
  early.written(4 * MB);
  file.flushes[0]?.fail();
  await settled();
  early.written(8 * MB);
  file.flushes[1]?.end();
  await settled();
  await expect(early.done()).rejects.toThrow('EIO');
});

it('has nothing to wait for where little was written', async () => {
  const early = createFlushEarly()(slowFile());
  early.written(100);
  expect(await early.done()).toBeUndefined();
});
