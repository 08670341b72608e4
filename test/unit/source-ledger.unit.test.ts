import { describe, expect, it } from '@jest/globals';
import { AppendOutcomeUnknownError, type EventStore } from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import type { CallOutcome } from '../../command/conversions/log-call.ts';
import {
  callOf,
  healthChangesIn,
  clock,
  item,
  items,
  ledgerOn,
  loggedIn,
  openSource,
} from '../support/conversion-calls.ts';

/** More ids than fit into one event. */
const MANY = 4_000;

const done = (
  accepted: number,
  duplicates: number,
  health = 'receiving',
  rejected: readonly unknown[] = [],
) => ({
  outcome: 'done',
  result: { accepted, duplicates, health, rejected },
});
const refused = (reason: string) => ({ outcome: 'refused', refusal: { reason } });
const resultOf = (outcome: CallOutcome) => {
  if (outcome.outcome === 'refused') throw new Error('refused');
  return outcome.result;
};

describe('a call', () => {
  it('logs new conversions in one event, in columns', async () => {
    const store = createMemoryEventStore(clock);
    const events = [
      item('a', { eventType: 'purchase', value: 5, currency: 'EUR' }),
      item('b', { eventType: 'lead', customEventName: 'call', orderId: '7' }),
      item('c', { eventType: 'purchase', value: 7.5, currency: 'USD' }),
    ];
    expect(await ledgerOn(store).submit(callOf(events))).toEqual(done(3, 0));
    const at = Date.parse('2026-03-01T11:00:00Z');
    expect(await loggedIn(store)).toMatchObject([
      {
        advertiserId: 11,
        chunk: 0,
        last: true,
        rejected: 0,
        health: 'receiving',
        eventIds: ['a', 'b', 'c'],
        eventTimes: [at, at, at],
        eventTypes: { of: ['purchase', 'lead'], indexes: [0, 1, 0] },
        values: [5, null, 7.5],
        currencies: { of: ['EUR', 'USD'], indexes: [0, -1, 1] },
        customEventNames: { of: ['call'], indexes: [-1, 0, -1] },
        more: [[1, { orderId: '7' }]],
      },
    ]);
  });

  it('counts conversions of the same or an earlier call as duplicates', async () => {
    const store = createMemoryEventStore(clock);
    const ledger = ledgerOn(store);
    expect(await ledger.submit(callOf(items('a', 'b', 'a')))).toEqual(done(2, 1));
    expect(await ledger.submit(callOf(items('b', 'c')))).toEqual(done(1, 1));
    expect(await ledgerOn(store).submit(callOf(items('a', 'b', 'c', 'd')))).toEqual(done(1, 3));
  });

  it('treats the same id with another type as another conversion', async () => {
    const ledger = ledgerOn(createMemoryEventStore(clock));
    const events = [item('a'), item('a', { eventType: 'lead' }), item('a', { eventType: 'custom' })];
    expect(await ledger.submit(callOf(events))).toEqual(done(2, 1));
  });

  it('with only duplicates logs nothing', async () => {
    const store = createMemoryEventStore(clock);
    const ledger = ledgerOn(store);
    await ledger.submit(callOf(items('a')));
    expect(await ledger.submit(callOf(items('a', 'a')))).toEqual(done(0, 2));
    expect(await loggedIn(store)).toHaveLength(1);
  });

  it('with only invalid conversions logs the rejections and changes the health', async () => {
    const store = createMemoryEventStore(clock);
    const ledger = ledgerOn(store);
    const outcome = await ledger.submit(callOf([item(''), 5]));
    expect(resultOf(outcome)).toMatchObject({ accepted: 0, duplicates: 0, health: 'needs_attention' });
    expect(await loggedIn(store)).toMatchObject([
      {
        rejected: 2,
        eventIds: [],
        last: true,
        firstReason: expect.stringMatching(/eventId/),
        reasons: [
          [expect.stringMatching(/eventId/), 1],
          ['must be an object', 1],
        ],
      },
    ]);
    expect(resultOf(await ledger.submit(callOf(items('a')))).health).toBe('receiving');
    expect(resultOf(await ledger.submit(callOf([item('a'), item('')]))).health).toBe('receiving');
  });

  it('that exceeds the size of one event is logged as several; the last one is marked', async () => {
    const store = createMemoryEventStore(clock);
    const events = Array.from({ length: MANY }, (_, n) => item(`${n}`.padEnd(250, 'x')));
    expect(await ledgerOn(store).submit(callOf(events))).toEqual(done(MANY, 0));
    const logged = await loggedIn(store);
    expect(logged.map(({ chunk, last }) => [chunk, last])).toEqual(
      logged.map((_, n) => [n, n === logged.length - 1]),
    );
    expect(logged.length).toBeGreaterThan(1);
    for (const one of logged) expect(Buffer.byteLength(JSON.stringify(one))).toBeLessThan(900_000);
    expect(await ledgerOn(store).submit(callOf(events))).toEqual(done(0, MANY));
  });

  it('in the longest encoding stays below the size limit of an event', async () => {
    const store = createMemoryEventStore(clock);
    const events = Array.from({ length: 900 }, (_, n) =>
      item(`${n}`.padEnd(256, '\u0001'), {
        customEventName: `${n}`.padEnd(256, '\u{FFFF}'),
        orderId: `${n}`.padEnd(256, '"'),
      }),
    );
    expect(await ledgerOn(store).submit(callOf(events))).toEqual(done(900, 0));
    for (const one of await loggedIn(store))
      expect(Buffer.byteLength(JSON.stringify(one))).toBeLessThan(900_000);
  });
});

describe('the change of health', () => {
  const broken = [item(''), 5];
  const changes = async (store: EventStore) => healthChangesIn(await loggedIn(store));

  it('is in the event that changes it, and in no other', async () => {
    const store = createMemoryEventStore(clock);
    for (const events of [items('a'), items('b'), broken, broken, items('a'), items('c'), items('d')]) {
      await ledgerOn(store).submit(callOf(events));
    }
    expect((await loggedIn(store)).map(({ healthChange }) => healthChange)).toEqual([
      { before: 'not_seen', eventSourceId: 'shop' },
      undefined,
      { before: 'receiving', eventSourceId: 'shop' },
      undefined,
      { before: 'needs_attention', eventSourceId: 'shop' },
      undefined,
    ]);
  });

  it('is recorded if the first call has nothing valid', async () => {
    const store = createMemoryEventStore(clock);
    await ledgerOn(store).submit(callOf(broken));
    expect(await changes(store)).toEqual(['needs_attention']);
  });

  it('is in one event of a call of several events', async () => {
    const store = createMemoryEventStore(clock);
    await ledgerOn(store, { chunkBytesMax: 4_400 }).submit(callOf(items('a', 'b', 'c', 'd', 'e', 'f')));
    expect((await loggedIn(store)).length).toBeGreaterThan(1);
    expect(await changes(store)).toEqual(['receiving']);
  });

  it('is that of the calls before it in the same append', async () => {
    const store = createMemoryEventStore(clock);
    const ledger = ledgerOn(store);
    await Promise.all(
      [items('a'), broken, items('a'), items('b'), items('c'), broken].map((events) =>
        ledger.submit(callOf(events)),
      ),
    );
    expect(await changes(store)).toEqual(['receiving', 'needs_attention', 'receiving', 'needs_attention']);
  });

  it('is decided again after a conflict with another process', async () => {
    const store = createMemoryEventStore(clock);
    const one = ledgerOn(store);
    await one.submit(callOf(items('a')));
    await ledgerOn(store).submit(callOf(broken));
    // The index of the first ledger still has the health before that.
    await one.submit(callOf(items('b')));
    await one.submit(callOf(broken));
    expect(await changes(store)).toEqual(['receiving', 'needs_attention', 'receiving', 'needs_attention']);
  });

  it.each([
    ['nothing in between', [], ['receiving']],
    ['calls that change it in between', [broken], ['receiving', 'needs_attention', 'receiving']],
  ])('is neither lost nor repeated by a call that is resumed, with %s', async (_, between, expected) => {
    const store = createMemoryEventStore(clock);
    let left = 1;
    const ending: EventStore = {
      ...store,
      appendBytesMax: 1,
      append: async (...appended) => {
        if (left === 0) throw new AppendOutcomeUnknownError('ended');
        left -= 1;
        return store.append(...appended);
      },
    };
    const call = callOf(items('a', 'b', 'c', 'd', 'e', 'f'));
    const small = { chunkBytesMax: 4_400 };
    await expect(ledgerOn(ending, small).submit(call)).rejects.toBeInstanceOf(AppendOutcomeUnknownError);
    for (const events of between) await ledgerOn(store).submit(callOf(events));
    expect(await ledgerOn(store, small).submit(call)).toEqual(done(6, 0));
    expect(await ledgerOn(store).submit(call)).toEqual(done(6, 0));
    expect(await changes(store)).toEqual(expected);
  });

  it('is not recorded by a test, a preview or a repeated call', async () => {
    const store = createMemoryEventStore(clock);
    const ledger = ledgerOn(store);
    const first = callOf(items('a'));
    await ledger.submit(first);
    await ledger.submit(callOf(broken, { mode: 'test', testEventCode: 'T1' }));
    await ledger.submit(callOf(broken, { mode: 'preview' }));
    await ledger.submit(first);
    await ledger.submit(callOf(items('b')));
    expect(await changes(store)).toEqual(['receiving']);
  });

  it('by an event of 0.2.0 is not in a later event', async () => {
    const store = createMemoryEventStore(clock);
    const ofOld: EventStore = {
      ...store,
      append: (stream, events, ...more) =>
        store.append(
          stream,
          events.map((event) => {
            const { healthChange: _, ...data } = event.data;
            return { ...event, data };
          }),
          ...more,
        ),
    };
    await ledgerOn(ofOld).submit(callOf(items('a')));
    await ledgerOn(store).submit(callOf(items('b')));
    expect((await loggedIn(store)).map(({ healthChange }) => healthChange)).toEqual([undefined, undefined]);
  });
});

describe('a call is refused and logs nothing', () => {
  it.each([
    ['no-source', undefined],
    ['source-archived', { ...openSource, isArchived: true }],
    ['advertiser-archived', { ...openSource, isAdvertiserArchived: true }],
  ])('%s', async (reason, facts) => {
    const store = createMemoryEventStore(clock);
    expect(await ledgerOn(store, { loadSource: async () => facts }).submit(callOf(items('a')))).toEqual(
      refused(reason),
    );
    expect(await loggedIn(store)).toEqual([]);
  });

  it("if its test code differs from the source's", async () => {
    const ledger = ledgerOn(createMemoryEventStore(clock), {
      loadSource: async () => ({ ...openSource, testEventCode: 'T1' }),
    });
    expect(await ledger.submit(callOf(items('a'), { mode: 'test', testEventCode: 'T2' }))).toEqual(
      refused('other-test-code'),
    );
    expect(await ledger.submit(callOf(items('a'), { mode: 'test', testEventCode: 'T1' }))).toEqual(
      done(1, 0, 'not_seen'),
    );
  });

  it('as soon as the source is archived', async () => {
    let isArchived = false;
    const ledger = ledgerOn(createMemoryEventStore(clock), {
      loadSource: async () => ({ ...openSource, isArchived }),
    });
    await ledger.submit(callOf(items('a')));
    isArchived = true;
    expect(await ledger.submit(callOf(items('b')))).toEqual(refused('source-archived'));
  });
});

describe('nothing is logged by', () => {
  it('a test, which does not detect duplicates', async () => {
    const store = createMemoryEventStore(clock);
    const ledger = ledgerOn(store);
    await ledger.submit(callOf(items('a')));
    expect(
      await ledger.submit(callOf([...items('a', 'b', 'b'), item('')], { mode: 'test', testEventCode: 'x' })),
    ).toMatchObject({
      result: { accepted: 3, duplicates: 0, health: 'receiving', rejected: [{ index: 3 }] },
    });
    expect(await loggedIn(store)).toHaveLength(1);
  });

  it('a preview, which returns the same counts as the call', async () => {
    const store = createMemoryEventStore(clock);
    const ledger = ledgerOn(store);
    await ledger.submit(callOf(items('a')));
    expect(await ledger.submit(callOf(items('a', 'b', 'b'), { mode: 'preview' }))).toEqual(done(1, 2));
    expect(await ledger.submit(callOf(items('a', 'b', 'b')))).toEqual(done(1, 2));
  });
});

describe('concurrent calls', () => {
  it('are appended together, and each one counts duplicates of earlier ones', async () => {
    const store = createMemoryEventStore(clock);
    let appends = 0;
    const counted: EventStore = { ...store, append: (...call) => ((appends += 1), store.append(...call)) };
    const ledger = ledgerOn(counted);
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, n) => ledger.submit(callOf(items('same', `own-${n}`)))),
    );
    expect(outcomes.map((outcome) => resultOf(outcome).accepted)).toEqual([
      2,
      ...Array.from({ length: 29 }, () => 1),
    ]);
    expect(appends).toBe(1);
    expect((await loggedIn(store)).flatMap(({ eventIds }) => eventIds)).toHaveLength(31);
  });

  it('fail together if the append fails, even those with only duplicates', async () => {
    const store = createMemoryEventStore(clock);
    let isLost = true;
    const losing: EventStore = {
      ...store,
      append: async (...call) => {
        if (isLost) throw new AppendOutcomeUnknownError('lost');
        return store.append(...call);
      },
    };
    const ledger = ledgerOn(losing);
    const outcomes = await Promise.allSettled([
      ledger.submit(callOf(items('a'))),
      ledger.submit(callOf(items('a'))),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isLost = false;
    expect(await ledger.submit(callOf(items('a')))).toEqual(done(1, 0));
  });

  it('of one command are executed once', async () => {
    const store = createMemoryEventStore(clock);
    const ledger = ledgerOn(store);
    const call = callOf(items('a', 'b'));
    expect(await Promise.all([ledger.submit(call), ledger.submit(call)])).toEqual([done(2, 0), done(2, 0)]);
    expect(await loggedIn(store)).toHaveLength(1);
  });
});

describe('a repeated call', () => {
  const batch = [...items('a', 'b'), item(''), item('a')];
  const answer = done(2, 1, 'receiving', [{ index: 2, reason: 'eventId must have 1 to 256 characters' }]);

  it('has the first answer, even after later events', async () => {
    const store = createMemoryEventStore(clock);
    const call = callOf(batch, { commandId: '3f7b0f38-2f5e-5d9b-9a51-0f6a0a4f7c11' });
    expect(await ledgerOn(store).submit(call)).toEqual(answer);
    await ledgerOn(store).submit(callOf([5, 5, 5, ...items('z')]));
    const later = { ...call, nowMs: call.nowMs + 86_400_000 };
    expect(await ledgerOn(store).submit(later)).toEqual(answer);
    expect(await loggedIn(store)).toHaveLength(2);
  });

  it('has the first answer even if the source was archived or accepts other types since', async () => {
    const store = createMemoryEventStore(clock);
    const call = callOf(batch);
    await ledgerOn(store).submit(call);
    for (const facts of [
      { ...openSource, isArchived: true },
      { ...openSource, allowedTypes: ['lead' as const] },
    ]) {
      expect(await ledgerOn(store, { loadSource: async () => facts }).submit(call)).toEqual(answer);
    }
  });

  it('logs the remaining events after an interruption', async () => {
    const store = createMemoryEventStore(clock);
    const events = Array.from({ length: MANY }, (_, n) => item(`${n}`.padEnd(250, 'x')));
    // One event per append, as with EventStoreDB; the process ends after the first.
    let left = 1;
    const ending: EventStore = {
      ...store,
      appendBytesMax: 1,
      append: async (...call) => {
        if (left === 0) throw new AppendOutcomeUnknownError('ended');
        left -= 1;
        return store.append(...call);
      },
    };
    const call = callOf([...events, item(''), item('0'.padEnd(250, 'x'))]);
    await expect(ledgerOn(ending).submit(call)).rejects.toBeInstanceOf(AppendOutcomeUnknownError);
    const before = (await loggedIn(store)).map(({ eventIds }) => eventIds.length);
    expect(before).toHaveLength(1);
    await ledgerOn(store).submit(callOf(items('1'.padEnd(250, 'x'), `${MANY - 1}`.padEnd(250, 'x'))));
    // Another call has logged its last conversion meanwhile.
    const expected = done(MANY - 1, 2, 'receiving', [
      { index: MANY, reason: 'eventId must have 1 to 256 characters' },
    ]);
    expect(await ledgerOn(store).submit(call)).toEqual(expected);
    expect(await ledgerOn(store).submit(call)).toEqual(expected);
    const all = (await loggedIn(store)).flatMap(({ eventIds }) => eventIds);
    expect([all.length, new Set(all).size]).toEqual([MANY, MANY]);
    const own = (await loggedIn(store)).filter(({ commandId }) => commandId === call.context.commandId);
    expect(own.map(({ chunk }) => chunk)).toEqual(own.map((_, n) => n));
    expect(own.map(({ last }) => last)).toEqual(own.map((_, n) => n === own.length - 1));
  });
});

describe('several ledgers of one source', () => {
  it('log each conversion once and return correct counts', async () => {
    const store = createMemoryEventStore(clock);
    const ledgers = [ledgerOn(store), ledgerOn(store), ledgerOn(store)];
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        (ledgers[n % 3] ?? ledgerOn(store)).submit(
          callOf(Array.from({ length: 50 }, (__, k) => item(`${(n * 17 + k) % 700}`))),
        ),
      ),
    );
    const accepted = outcomes.reduce((sum, outcome) => sum + resultOf(outcome).accepted, 0);
    const all = (await loggedIn(store)).flatMap(({ eventIds }) => eventIds);
    expect([accepted, all.length, new Set(all).size]).toEqual([700, 700, 700]);
  });
});
