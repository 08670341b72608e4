import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import {
  changesBetween,
  explainNext,
  membersOf,
  type Change,
  type Explanation,
} from '../../domain/history/change-resource.ts';
import { toNewEvents, type StorableEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { createFoldCache } from '../../query/history/fold-cache.ts';
import type { Until } from '../../query/history/fold.ts';
import { createStreamHistory } from '../../query/history/stream-history.ts';
import { auditedKind } from '../../query/resources/audited-kind.ts';
import { createAttemptLog, type AttemptLogOptions } from '../../command/audit/attempt-log.ts';
import type { AccountEvent } from '../../domain/accounts/events.ts';
import { accountPast } from '../../domain/accounts/account-history.ts';
import { campaignsAfter } from '../../domain/history/audited-event.ts';
import { emptyMap, valueOf, withValue, type SharedMap } from '../../domain/accounts/shared-map.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { RefusedRequest } from '../../shared/http/route-handler.ts';
import { createLog } from '../../app/log.ts';

const json = fc.dictionary(
  fc.constantFrom('a', 'b', 'a/b', '~0', '', '__proto__x'),
  fc.jsonValue({ maxDepth: 3 }),
);

const applied = (before: unknown, changes: readonly Change[]) => {
  const members = new Map(membersOf(before));
  for (const { path, ...change } of changes) {
    if ('after' in change) members.set(path, change.after);
    else members.delete(path);
  }
  return members;
};

describe('changes between two states', () => {
  it('turn the first state into the second; equal states have none', () => {
    fc.assert(
      fc.property(fc.option(json, { nil: undefined }), json, (before, after) => {
        const changes = changesBetween(before, after);
        expect(applied(before, changes)).toEqual(membersOf(after));
        expect(applied(after, changesBetween(after, before))).toEqual(membersOf(before));
        expect(changesBetween(after, after)).toEqual([]);
        for (const { path, ...change } of changes) {
          expect('before' in change).toBe(membersOf(before).has(path));
        }
      }),
    );
  });

  it('names a member by its JSON Pointer, and treats a list as one value', () => {
    const before = { 'a/b': { '~': 1 }, list: [1, 2], gone: undefined };
    const after = { 'a/b': { '~': 2 }, list: [2, 1], empty: {} };
    expect(changesBetween(before, after)).toEqual([
      { path: '/a~1b/~0', before: 1, after: 2 },
      { path: '/list', before: [1, 2], after: [2, 1] },
      { path: '/empty', after: {} },
    ]);
  });
});

describe('an explanation', () => {
  it('has the members of the state, each with the last event that changed it', () => {
    fc.assert(
      fc.property(fc.array(json, { minLength: 1, maxLength: 8 }), (states) => {
        const explanation = states.reduce<Explanation<number>>(
          (known, state, by) => explainNext(known, state, by),
          new Map(),
        );
        const now = membersOf(states.at(-1));
        expect(new Map([...explanation].map(([path, { value }]) => [path, value]))).toEqual(now);
        for (const [path, { by }] of explanation) {
          for (let n = by; n < states.length; n += 1) {
            expect(membersOf(states[n]).get(path)).toEqual(now.get(path));
          }
          const before = by === 0 ? undefined : membersOf(states[by - 1]);
          expect(before?.has(path) === true && before.get(path) === now.get(path)).toBe(false);
        }
      }),
    );
  });
});

interface NoteEvent extends StorableEvent {
  readonly data: { readonly note: number };
}
type Notes = { readonly notes: readonly number[]; readonly at: string };
const noNotes: Notes = { notes: [], at: '' };

const kind = auditedKind({
  category: 'notes',
  resourceType: 'TASK',
  events: {},
  noun: 'note',
  initialState: noNotes,
  evolve: ({ notes }: Notes, { data, occurredAt }: NoteEvent): Notes => ({
    notes: [...notes, data.note],
    at: occurredAt,
  }),
  live: (state) => (state.notes.length === 0 ? undefined : state),
  audited: (notes) => notes,
  idOf: () => 'notes',
});

const stream = 'notes-1-1';
/** The clocks of two nodes: every third event comes from the slow one. */
const timeOf = (n: number): string =>
  new Date(1_000_000 + n * 1_000 - (n % 3 === 0 ? 5_000 : 0)).toISOString();

const storeOf = async (events: number) => {
  const store = createMemoryEventStore();
  for (let n = 0; n < events; n += 1) {
    const event = { type: 'NoteEvent', data: { note: n }, occurredAt: timeOf(n) };
    const context = { commandId: randomUUID(), customerId: 1, actor: 'operator', requestId: 'r' };
    await store.append(stream, toNewEvents([event], context, { NoteEvent: { schemaVersion: 1 } }), 'any');
  }
  return store;
};

describe('states of the past', () => {
  const count = 200;
  const all = Array.from({ length: count }, (_, n) => n);

  // The second size holds almost nothing and evicts all the time.
  it.each([1_000_000, 3_000])('equal the folds up to that point, with a cache of %i bytes', async (bytes) => {
    const store = await storeOf(count);
    const history = createStreamHistory(store, createFoldCache(store, bytes));
    const stateAt = async (until: Until) => {
      const { state, revision } = await history.stateAt(kind, stream, until);
      expect((state as Notes).notes).toEqual(all.slice(0, revision));
      return revision;
    };
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: count + 5 }), async (revision) => {
        expect(await stateAt({ revision })).toBe(Math.min(revision, count));
      }),
      { numRuns: 60 },
    );
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: count }), async (n) => {
        const instant = timeOf(n);
        const beyond = all.findIndex((one) => timeOf(one) > instant);
        expect(await stateAt({ instant })).toBe(beyond < 0 ? count : beyond);
      }),
      { numRuns: 60 },
    );
    expect(await stateAt({ revision: 'last' })).toBe(count);
  });

  it('changes of some revisions equal those in the whole history', async () => {
    const store = await storeOf(count);
    const history = createStreamHistory(store, createFoldCache(store, 1_000_000));
    const whole = (await history.page(kind, { stream }, 0, count)).events;
    expect(whole).toHaveLength(count);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: count })), async (revisions) => {
        const found = await history.changesAt(kind, { stream }, revisions);
        expect(new Map(found)).toEqual(new Map(revisions.map((one) => [one, whole[one - 1]])));
      }),
      { numRuns: 30 },
    );
    const { state } = await history.explain(kind, { stream }, { revision: 150 });
    expect([...state].map(([path, { value, by }]) => [path, value, by.revision])).toEqual([
      ['/notes', all.slice(0, 150), 149],
      ['/at', timeOf(149), 149],
    ]);
  });
});

describe("the shared parts of an account's states", () => {
  it('are a map: each key has its last value, and older maps do not change', () => {
    const entry = fc.tuple(fc.oneof(fc.constantFrom('a', 'b', ''), fc.string()), fc.nat());
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 60 }), (entries) => {
        let map: SharedMap<number> = emptyMap;
        const wanted = new Map<string, number>();
        for (const [key, value] of entries) {
          const before = map;
          map = withValue(map, key, value);
          expect(valueOf(before, key)).toBe(wanted.get(key));
          wanted.set(key, value);
        }
        for (const [key, value] of wanted) expect(valueOf(map, key)).toBe(value);
        expect(valueOf(map, 'never')).toBeUndefined();
      }),
    );
  });

  it('one more key among thousands does not copy the others', () => {
    const issued = (keyId: string): AccountEvent => ({
      type: 'ApiKeyIssued',
      data: { keyId, name: 'Key', maskedKey: 'bx_***', userId: '7-1', scopes: [] },
      occurredAt: '2026-01-01T00:00:00.000Z',
    });
    const opened = { type: 'AccountOpened', data: { customerId: 7, name: 'Seven' } } as const;
    let past = accountPast.evolve(accountPast.initialState, { ...opened, occurredAt: '' });
    for (let n = 0; n < 4_000; n += 1) past = accountPast.evolve(past, issued(`key${n}`));
    const next = accountPast.evolve(past, issued('another'));
    const rows = next.keys.filter((row, n) => row !== past.keys[n]);
    expect(rows).toHaveLength(1);
    const buckets = rows[0]?.filter((one) => !past.keys.some((row) => row.includes(one))) ?? [];
    expect(buckets).toHaveLength(1);
    expect(buckets[0]?.length).toBeLessThan(40);
    expect(next.account).toMatchObject({ keys: {} });
    const revoked = accountPast.evolve(next, {
      type: 'ApiKeyRevoked',
      data: { keyId: 'key9' },
      occurredAt: 'then',
    });
    expect(valueOf(revoked.keys, 'key9')).toMatchObject({ userId: '7-1', revokedAt: 'then' });
    expect(valueOf(next.keys, 'key9')).not.toHaveProperty('revokedAt');
  });
});

it('an entry is found through every campaign of its resource, and through the one that the resource leaves', () => {
  const attached = campaignsAfter(['a'], { campaignIds: ['b'], leaves: undefined });
  expect(attached).toEqual({ campaignIds: ['a', 'b'], foundBy: ['a', 'b'] });
  const detached = campaignsAfter(['a', 'b'], { campaignIds: [], leaves: 'a' });
  expect(detached).toEqual({ campaignIds: ['b'], foundBy: ['b', 'a'] });
});

describe('refused requests', () => {
  const refused = (actor: string, code: 'FORBIDDEN' | 'VALIDATION_ERROR'): RefusedRequest => ({
    route: { method: 'put', path: '/things/{id}', operationId: 'updateThing' } as RefusedRequest['route'],
    holder: { customerId: 7, actor },
    params: {},
    requestId: 'r',
    refusal: new ApiError({ code, message: 'No.' }),
  });
  /** The test answers each statement. */
  const openLog = () => {
    const statements: { readonly ids: string; readonly answer: (error?: unknown) => void }[] = [];
    const query = ({ values }: { readonly values: readonly Buffer[] }) =>
      new Promise<void>((resolve, reject) => {
        const answer = (error?: unknown): void => (error === undefined ? resolve() : reject(error));
        statements.push({ ids: String(values[2]?.toString('hex')), answer });
      });
    const registry = new Registry();
    const log = createAttemptLog({
      pool: { query } as unknown as AttemptLogOptions['pool'],
      clock: { now: () => 0 },
      log: createLog('silent'),
      registry,
      subjectOf: () => undefined,
    });
    const dropped = async (): Promise<number> =>
      (await registry.getSingleMetric('exchange_audit_attempts_dropped_total')?.get())?.values[0]?.value ?? 0;
    return { log, statements, dropped };
  };

  it('are written by one statement at a time, and wait for a retry after a failure', async () => {
    const { log, statements, dropped } = openLog();
    log.refused(refused('api-key:a', 'FORBIDDEN'));
    const first = log.flush();
    log.refused(refused('api-key:a', 'FORBIDDEN'));
    const second = log.flush();
    await Promise.resolve();
    expect(statements).toHaveLength(1);
    statements[0]?.answer(new Error('unavailable'));
    await expect(first).rejects.toThrow('unavailable');
    while (statements.length < 2) await Promise.resolve();
    // The retry contains the failed rows with the same ids, and later ones.
    expect(statements[1]?.ids.length).toBeGreaterThan(statements[0]?.ids.length ?? 0);
    expect(statements[1]?.ids).toContain(statements[0]?.ids.slice(-32));
    statements[1]?.answer();
    await second;
    await log.flush();
    expect(statements).toHaveLength(2);
    expect(await dropped()).toBe(0);
    log.refused(refused('api-key:a', 'FORBIDDEN'));
    const last = log.flush();
    statements[2]?.answer(Object.assign(new Error('no such text'), { code: '22021' }));
    await last;
    expect(await dropped()).toBe(1);
  });

  it('beyond the limit do not displace those of other accounts, nor FORBIDDEN ones', async () => {
    const { log, dropped } = openLog();
    for (let n = 0; n < 70; n += 1) log.refused(refused('api-key:a', 'VALIDATION_ERROR'));
    expect(await dropped()).toBe(10);
    for (let n = 0; n < 60; n += 1) log.refused(refused('api-key:a', 'FORBIDDEN'));
    for (let n = 0; n < 60; n += 1) log.refused(refused('api-key:b', 'VALIDATION_ERROR'));
    expect(await dropped()).toBe(10);
    for (let n = 0; n < 2_000; n += 1) log.refused(refused(`api-key:${n}`, 'VALIDATION_ERROR'));
    const before = await dropped();
    log.refused(refused('api-key:c', 'FORBIDDEN'));
    expect([before > 1_000, (await dropped()) - before]).toEqual([true, 0]);
  });
});
