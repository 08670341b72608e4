import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createKeptAnswers, type KeptAnswers } from '../../command/workers/proposals/kept-answers.ts';
import { objectKeyOf, type ObjectStore } from '../../shared/storage/object-store.ts';
import { openObjectStore } from '../../shared/storage/open-object-store.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

const database = useReadModelDatabase();
let folder: string;
let objects: ObjectStore;
let answers: KeptAnswers;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exchange-test-'));
  objects = await openObjectStore(undefined, folder);
  answers = createKeptAnswers({ pool: database.pool, objects, days: 90 });
});
afterAll(() => rm(folder, { recursive: true }));

const isStored = async (ref: string): Promise<boolean> => {
  const key = objectKeyOf(ref);
  return key !== undefined && (await objects.sizeOf(key)) !== undefined;
};
const pass = (days: number) =>
  database.pool.query(`update proposal_answers set kept_until = kept_until - make_interval(days => $1)`, [
    days,
  ]);

it('an answer is deleted when its days are over, and equal ones of other accounts stay', async () => {
  const old = await answers.keep(1, { products: ['a'] });
  await pass(89);
  const recent = await answers.keep(2, { products: ['a'] });
  expect(await answers.purge(10)).toBe(0);
  await pass(2);
  expect(await answers.purge(10)).toBe(1);
  expect([await isStored(old.ref), await isStored(recent.ref)]).toEqual([false, true]);
  expect(recent.digest).toBe(old.digest);
});

it('an answer that is given again is kept for longer, also if that happens during its purge', async () => {
  const { ref } = await answers.keep(3, { products: ['b'] });
  await pass(80);
  await answers.keep(3, { products: ['b'] });
  await pass(80);
  await answers.purge(10);
  expect(await isStored(ref)).toBe(true);
  await pass(20);
  const during: Promise<unknown>[] = [];
  const slow = createKeptAnswers({
    pool: database.pool,
    days: 90,
    objects: {
      ...objects,
      remove: async (key) => {
        during.push(answers.keep(3, { products: ['b'] }));
        await new Promise((resolve) => setTimeout(resolve, 50));
        await objects.remove(key);
      },
    },
  });
  expect(await slow.purge(1)).toBe(1);
  await Promise.all(during);
  expect(await isStored(ref)).toBe(true);
});

it('an object that cannot be deleted is tried again an hour later, and holds up no other', async () => {
  const { ref } = await answers.keep(4, { products: ['c'] });
  await pass(1);
  const { ref: later } = await answers.keep(4, { products: ['d'] });
  await pass(91);
  const broken: ObjectStore = {
    ...objects,
    remove: (key) => (key === objectKeyOf(ref) ? Promise.reject(new Error('no store')) : objects.remove(key)),
  };
  await expect(
    createKeptAnswers({ pool: database.pool, objects: broken, days: 90 }).purge(10),
  ).rejects.toThrow('no store');
  expect([await isStored(ref), await isStored(later)]).toEqual([true, false]);
  expect(await answers.purge(10)).toBe(0);
  await pass(1);
  expect(await answers.purge(10)).toBe(1);
  expect(await isStored(ref)).toBe(false);
});
