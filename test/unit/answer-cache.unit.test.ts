import { describe, expect, it } from '@jest/globals';
import { answeredFromMemory, createAnswerCache } from '../../shared/http/answer-cache.ts';
import type { AccountVersion } from '../../shared/http/principal.ts';
import { route, type Reply, type Route } from '../../shared/http/route.ts';

const at = (text: string, askedAt = performance.now()): AccountVersion => ({ text, askedAt });

const reader = (name: string, bytes = 100) => {
  const reads = { count: 0 };
  return {
    reads,
    read: async () => {
      reads.count += 1;
      return { name };
    },
    bytesOf: () => bytes,
  };
};

const cacheOf = (bytesMax = 100_000) => {
  const cache = createAnswerCache(bytesMax);
  const ask = async (
    key: string,
    version: AccountVersion | undefined,
    { read, bytesOf }: ReturnType<typeof reader>,
  ) => (await cache.answer(key, version, read, bytesOf)).name;
  return { cache, ask };
};

it('reads once while the version stays the same', async () => {
  const { cache, ask } = cacheOf();
  const one = reader('one');
  expect(await ask('k', at('v1'), one)).toBe('one');
  expect(await ask('k', at('v1'), one)).toBe('one');
  expect(one.reads.count).toBe(1);
  expect(await ask('k', at('v2'), reader('two'))).toBe('two');
  expect([cache.hits, cache.misses]).toEqual([1, 2]);
});

it('never serves a result that was read before a write to a request that arrived after the write', async () => {
  const { ask } = cacheOf();
  // Version 2 is read and cached while the read of version 1 is still in progress.
  let finish = (): void => undefined;
  const slow = reader('old');
  const waiting = new Promise<void>((resolve) => (finish = resolve));
  const old = ask('k', at('v1'), { ...slow, read: () => waiting.then(slow.read) });
  expect(await ask('k', at('v2'), reader('new'))).toBe('new');
  finish();
  await old;
  expect(await ask('k', at('v2'), reader('new'))).toBe('new');
});

it('caches nothing for a request without a version', async () => {
  const { ask } = cacheOf();
  const one = reader('one');
  await ask('k', undefined, one);
  await ask('k', at('v1'), one);
  await ask('k', undefined, one);
  expect(one.reads.count).toBe(3);
});

it('when it is cleared, drops reads in progress and does not accept versions that were read earlier', async () => {
  const { cache, ask } = cacheOf();
  const one = reader('of the old server');
  const before = at('v1');
  const reading = ask('k', before, one);
  cache.clear();
  await reading;
  await ask('k', before, one);
  await ask('k', at('v1', performance.now() + 1), one);
  expect(one.reads.count).toBe(3);
});

it('does not cache a failed read', async () => {
  const { ask } = cacheOf();
  const failing = { ...reader('no'), read: () => Promise.reject(new Error('no')) };
  await expect(ask('k', at('v1'), failing)).rejects.toThrow('no');
  expect(await ask('k', at('v1'), reader('yes'))).toBe('yes');
});

it('stays within its limit, evicts the least recently used answer first, and does not cache a very large one', async () => {
  const { cache, ask } = cacheOf(16_000);
  const one = reader('v', 1_500);
  for (let n = 0; n < 8; n += 1) await ask(`k${n}`, at('v'), one);
  await ask('k0', at('v'), one);
  expect(cache.hits).toBe(1);
  await ask('k8', at('v'), one);
  await ask('k9', at('v'), one);
  await ask('k0', at('v'), one);
  expect(cache.hits).toBe(2);
  await ask('k1', at('v'), one);
  expect(cache.hits).toBe(2);
  const large = reader('large', 10_000);
  await ask('large', at('v'), large);
  await ask('large', at('v'), large);
  expect(large.reads.count).toBe(2);
});

describe('a route that is answered from memory', () => {
  const wrapped = (handle: () => Promise<Reply>) => {
    const [one] = answeredFromMemory(createAnswerCache(100_000), [
      route({
        method: 'get',
        path: '/things/{id}',
        operationId: 'getThing',
        summary: 'One thing',
        tag: 'Things',
        access: 'exchange:read',
        responses: { 200: { description: 'The thing' } },
        handle,
      }),
    ]);
    return (id: number, customerId = 1) =>
      (one as Route).handle({
        params: { id },
        request: { principal: { customerId, version: at('v1') } },
      } as never);
  };

  it('runs once for each account and request', async () => {
    let runs = 0;
    const ask = wrapped(async () => ({ status: 200, data: { runs: (runs += 1) } }));
    const shown = [await ask(1), await ask(1), await ask(2), await ask(1, 2), await ask(1)];
    expect(shown).toEqual(
      [1, 1, 2, 3, 1].map((run) => ({ status: 200, dataJson: JSON.stringify({ runs: run }) })),
    );
  });

  it('is not cached if the handler fails or if the answer has headers', async () => {
    let runs = 0;
    const withHeaders = wrapped(async () => ({ status: 200, data: (runs += 1), headers: { 'X-One': '1' } }));
    await withHeaders(1);
    await withHeaders(1);
    const absent = wrapped(() => Promise.reject(new Error(`nothing, asked ${(runs += 1)} times`)));
    for (let tries = 0; tries < 2; tries += 1) await absent(1).catch(() => undefined);
    expect(runs).toBe(4);
  });
});
