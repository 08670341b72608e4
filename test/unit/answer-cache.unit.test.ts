import { expect, it } from '@jest/globals';
import { readyReply } from '../../src/query/resources/ready-reply.ts';
import type { Principal } from '../../src/shared/http/principal.ts';
import { createAnswerCache } from '../../src/shared/read-your-writes/answer-cache.ts';

const reader = (mark: string, value: string, bytes = 100) => {
  const reads = { count: 0 };
  return {
    reads,
    read: async () => {
      reads.count += 1;
      return { mark, value, bytes };
    },
  };
};

it('reads once for as long as the mark stays the same', async () => {
  const cache = createAnswerCache(100_000);
  const { reads, read } = reader('m1', 'one');
  expect(await cache.answer('k', 'm1', read)).toBe('one');
  expect(await cache.answer('k', 'm1', read)).toBe('one');
  expect(reads.count).toBe(1);
  expect(await cache.answer('k', 'm2', reader('m2', 'two').read)).toBe('two');
  expect(cache.hits).toBe(1);
  expect(cache.misses).toBe(2);
});

it('keeps an answer under the mark it was made at, not the one it was asked with', async () => {
  const cache = createAnswerCache(100_000);
  expect(await cache.answer('k', 'm1', reader('m2', 'newer').read)).toBe('newer');
  expect(await cache.answer('k', 'm1', reader('m1', 'again').read)).toBe('again');
});

it('keeps nothing for whoever brings no mark', async () => {
  const cache = createAnswerCache(100_000);
  const { reads, read } = reader('m1', 'one');
  await cache.answer('k', undefined, read);
  await cache.answer('k', 'm1', read);
  await cache.answer('k', undefined, read);
  expect(reads.count).toBe(3);
});

it('forgets what was being read when it was cleared', async () => {
  const cache = createAnswerCache(100_000);
  const { reads, read } = reader('m1', 'of the old server');
  const reading = cache.answer('k', 'm1', read);
  cache.clear();
  await reading;
  await cache.answer('k', 'm1', read);
  expect(reads.count).toBe(2);
});

it('keeps nothing of a read that failed', async () => {
  const cache = createAnswerCache(100_000);
  const failing = () => Promise.reject(new Error('no'));
  await expect(cache.answer('k', 'm1', failing)).rejects.toThrow('no');
  expect(await cache.answer('k', 'm1', reader('m1', 'yes').read)).toBe('yes');
});

it('stays within its bound, the least recently used going first, and takes no giant', async () => {
  const cache = createAnswerCache(16_000);
  const { read } = reader('m', 'v', 1_500);
  for (let n = 0; n < 8; n += 1) await cache.answer(`k${n}`, 'm', read);
  await cache.answer('k0', 'm', read);
  expect(cache.hits).toBe(1);
  await cache.answer('k8', 'm', read);
  await cache.answer('k9', 'm', read);
  await cache.answer('k0', 'm', read);
  expect(cache.hits).toBe(2);
  await cache.answer('k1', 'm', read);
  expect(cache.hits).toBe(2);
  const giant = reader('m', 'giant', 10_000);
  await cache.answer('giant', 'm', giant.read);
  await cache.answer('giant', 'm', giant.read);
  expect(giant.reads.count).toBe(2);
});

it('does not keep an answer that was not fresh', async () => {
  const cache = createAnswerCache(100_000);
  let reads = 0;
  const read = async () => ({ mark: undefined, value: (reads += 1), bytes: 8 });
  await cache.answer('k', 'm1', read);
  expect(await cache.answer('k', 'm1', read)).toBe(2);
});

it('keeps no answer of what is not there: whoever guesses ids would push out all others', async () => {
  const cache = createAnswerCache(100_000);
  let reads = 0;
  const ask = (data: unknown) =>
    readyReply(cache, { customerId: 1, mark: 'm' } as Principal, ['thing', String(data)], async () => {
      reads += 1;
      return { data, mark: 'm' };
    });
  for (const found of [undefined, undefined, 'one', 'one']) await ask(found);
  expect([reads, cache.hits]).toEqual([3, 1]);
});
