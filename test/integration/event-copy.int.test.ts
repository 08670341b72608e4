import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyEvents, SourceWrittenError } from '../../cli/event-move/copy-events.ts';
import type { CopyCheckpoint, CopyState } from '../../cli/event-move/copy-checkpoint.ts';
import { verifyEvents } from '../../cli/event-move/verify-events.ts';
import { CopyConflictError } from '../../cli/event-move/write-page.ts';
import { sleep } from '../../shared/async/backoff.ts';
import {
  START,
  type EventStore,
  type NewEvent,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { makeEventStoreDbOnService } from '../contract/make-eventstoredb-store.ts';
import { makePostgresStore } from '../contract/make-postgres-store.ts';
import type { MakeStore } from '../contract/make-store.ts';
import { sampleEvent, sampleEvents } from '../contract/sample-events.ts';
import { fillWithHistory } from '../support/sample-history.ts';

const makeMemoryStore: MakeStore = async () => {
  const store = createMemoryEventStore();
  return { store, dispose: () => store.close() };
};

const rememberedCheckpoint = (): CopyCheckpoint & { state: CopyState | undefined } => ({
  state: undefined,
  async load() {
    return this.state;
  },
  async save(state) {
    this.state = state;
  },
  async remove() {
    this.state = undefined;
  },
});

const wholeLog = async (store: EventStore): Promise<readonly RecordedEvent[]> => {
  const log: RecordedEvent[] = [];
  for (;;) {
    const page = await store.readAll({ after: log.at(-1)?.position ?? START, limit: 500 });
    if (page.length === 0) return log;
    log.push(...page);
  }
};

const idsOfAccount = (log: readonly RecordedEvent[], customerId: number): readonly string[] =>
  log.filter(({ metadata }) => metadata.customerId === customerId).map(({ id }) => id);

/** More than one page. `event-copy-command` copies as many with EventStoreDB. */
const PAGES = 1_200;
const FEW = 120;
const pairs: readonly (readonly [string, MakeStore, string, MakeStore, number])[] = [
  ['memory', makeMemoryStore, 'memory', makeMemoryStore, PAGES],
  ['memory', makeMemoryStore, 'Postgres', makePostgresStore, FEW],
  ['Postgres', makePostgresStore, 'Postgres', makePostgresStore, PAGES],
  ['Postgres', makePostgresStore, 'EventStoreDB', makeEventStoreDbOnService, FEW],
  ['EventStoreDB', makeEventStoreDbOnService, 'Postgres', makePostgresStore, FEW],
];

describe.each(pairs)('copy from %s', (_from, makeFrom, to, makeTo, atLeast) => {
  let from: EventStore;
  let target: EventStore;
  const disposals: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    const [source, other] = [await makeFrom(), await makeTo()];
    disposals.push(source.dispose, other.dispose);
    from = source.store;
    target = other.store;
    await fillWithHistory(from, atLeast);
  });
  afterAll(async () => {
    for (const dispose of disposals) await dispose();
  });

  it(`to ${to}: every stream, revision, id, type, data and metadata; each request's events in order`, async () => {
    const checkpoint = rememberedCheckpoint();
    const { events, copied } = await copyEvents({ from, to: target, checkpoint });
    const [source, copy] = [await wholeLog(from), await wholeLog(target)];
    expect([events, copied]).toEqual([source.length, source.length]);
    expect(source.length).toBeGreaterThanOrEqual(atLeast);
    // In this history all events of an account belong to one request.
    for (const customerId of new Set(source.map(({ metadata }) => metadata.customerId))) {
      expect(idsOfAccount(copy, customerId)).toEqual(idsOfAccount(source, customerId));
    }
    const verified = await verifyEvents(from, target);
    expect(verified).toEqual({
      source: verified.target,
      target: { events: source.length, streams: new Set(source.map(({ stream }) => stream)).size },
      same: true,
      differences: [],
    });
  });

  it(`to ${to} again, with and without its checkpoint, copies nothing twice`, async () => {
    const checkpoint = rememberedCheckpoint();
    await copyEvents({ from, to: target, checkpoint });
    expect((await copyEvents({ from, to: target, checkpoint })).copied).toBe(0);
    expect((await verifyEvents(from, target)).same).toBe(true);
  });
});

describe('copy', () => {
  it('resumes after an earlier run with other chunks', async () => {
    const [from, to] = [createMemoryEventStore(), createMemoryEventStore()];
    const events = sampleEvents(40);
    await from.append('sample-1', events, 'no-stream');
    await to.append('sample-1', events.slice(0, 7), 'no-stream');
    await copyEvents({ from, to, checkpoint: rememberedCheckpoint() });
    expect((await verifyEvents(from, to)).same).toBe(true);
  });

  it('fails if the target contains other events', async () => {
    const [from, to] = [createMemoryEventStore(), createMemoryEventStore()];
    await from.append('sample-1', sampleEvents(3), 'no-stream');
    await to.append('sample-1', sampleEvents(1), 'no-stream');
    const copying = copyEvents({ from, to, checkpoint: rememberedCheckpoint() });
    await expect(copying).rejects.toThrow(CopyConflictError);
    await expect(copying).rejects.toThrow('sample-1@0');
  });

  it('ignores a checkpoint of another target', async () => {
    const [from, first, second] = [
      createMemoryEventStore(),
      createMemoryEventStore(),
      createMemoryEventStore(),
    ];
    await fillWithHistory(from, 2_500);
    const checkpoint = rememberedCheckpoint();
    await copyEvents({ from, to: first, checkpoint });
    await copyEvents({ from, to: second, checkpoint });
    expect((await verifyEvents(from, second)).same).toBe(true);
  });

  it('reports a source that is being written', async () => {
    const [from, to] = [createMemoryEventStore(), createMemoryEventStore()];
    await fillWithHistory(from, 2_500);
    const append = async (): Promise<void> => {
      await from.append(`late-${Math.floor(performance.now() * 1_000)}`, [sampleEvent()], 'any');
    };
    const copying = copyEvents({
      from,
      to,
      checkpoint: rememberedCheckpoint(),
      onProgress: () => void append(),
    });
    await expect(copying).rejects.toThrow(SourceWrittenError);
  });
});

/** A store with slow appends of different durations. */
const slowed = (
  store: EventStore,
): { readonly store: EventStore; now: () => number; atOnceMax: () => number } => {
  let now = 0;
  let most = 0;
  const append: EventStore['append'] = async (...call) => {
    most = Math.max(most, (now += 1));
    await sleep(Math.random() * 10);
    try {
      return await store.append(...call);
    } finally {
      now -= 1;
    }
  };
  return { store: { ...store, append }, now: () => now, atOnceMax: () => most };
};

describe('copy of one account', () => {
  /** Each event has its own request. */
  const eventOf = (data: NewEvent['data'], more: Partial<NewEvent['metadata']> = {}): NewEvent => {
    const { metadata, ...event } = sampleEvent();
    return {
      ...event,
      data,
      metadata: { ...metadata, correlationId: randomUUID(), causationId: randomUUID(), ...more },
    };
  };

  it('appends to a limited number of streams concurrently, each in order', async () => {
    const [from, to] = [createMemoryEventStore(), createMemoryEventStore()];
    for (let n = 0; n < 300; n += 1) {
      await from.append(`sample-7-${n % 150}s`, [eventOf({})], n < 150 ? 'no-stream' : 0);
    }
    const slow = slowed(to);
    await copyEvents({ from, to: slow.store, checkpoint: rememberedCheckpoint() });
    expect((await verifyEvents(from, to)).same).toBe(true);
    expect(slow.atOnceMax()).toBeGreaterThan(32);
    expect(slow.atOnceMax()).toBeLessThanOrEqual(64);
  });

  it('after a failed append, starts no further append and waits for those in flight', async () => {
    const [from, to] = [createMemoryEventStore(), createMemoryEventStore()];
    for (let n = 0; n < 500; n += 1) await from.append(`sample-7-${n}s`, [eventOf({})], 'no-stream');
    await to.append('sample-7-100s', [eventOf({})], 'no-stream');
    const slow = slowed(to);
    await expect(copyEvents({ from, to: slow.store, checkpoint: rememberedCheckpoint() })).rejects.toThrow(
      'sample-7-100s@0',
    );
    expect(slow.now()).toBe(0);
    const head = await to.head();
    await sleep(50);
    expect(await to.head()).toBe(head);
    // Appends that were in flight are completed.
    expect((await to.readAll({ after: START, limit: 1_000 })).length).toBeLessThan(100 + 3 * 64);
  });

  it('never appends an event before one that it depends on by name, cause, request or account', async () => {
    const [from, to] = [createMemoryEventStore(), createMemoryEventStore()];
    const ordered: (readonly [string, string])[] = [];
    const write = async (stream: string, event: NewEvent, behind?: string): Promise<string> => {
      await from.append(stream, [event], 'no-stream');
      if (behind !== undefined) ordered.push([behind, event.id]);
      return event.id;
    };
    for (let n = 0; n < 40; n += 1) {
      const named = await write(`advertiser-7-${1_000 + n}`, eventOf({}));
      await write(`campaign-7-named-${n}`, eventOf({ list: [{ advertiserId: 1_000 + n }] }), named);
      await write(`campaign-7-caused-${n}`, eventOf({}, { causationId: named }), named);
      const correlationId = randomUUID();
      const first = await write(`campaign-7-first-${n}`, eventOf({}, { correlationId }));
      await write(`campaign-7-second-${n}`, eventOf({}, { correlationId }), first);
      const before = await write(`campaign-7-before-${n}`, eventOf({}));
      if (n === 20) {
        const account = await write('account-7', eventOf({}), before);
        await write('campaign-7-after', eventOf({}), account);
      }
    }
    await copyEvents({ from, to: slowed(to).store, checkpoint: rememberedCheckpoint() });
    expect((await verifyEvents(from, to)).same).toBe(true);
    const order = new Map((await wholeLog(to)).map(({ id }, index) => [id, index]));
    expect(ordered.filter(([a, b]) => (order.get(a) ?? 0) >= (order.get(b) ?? 0))).toEqual([]);
    expect(ordered).toHaveLength(3 * 40 + 2);
  });

  it.each([1, 64, 130, 199])('killed after %i appends and repeated, has 0 differences', async (appends) => {
    const [from, to] = [createMemoryEventStore(), createMemoryEventStore()];
    for (let n = 0; n < 200; n += 1) await from.append(`sample-7-${n}s`, [eventOf({})], 'no-stream');
    let left = appends;
    const append: EventStore['append'] = async (...call) => {
      if ((left -= 1) < 0) throw new RangeError('killed');
      return to.append(...call);
    };
    const checkpoint = rememberedCheckpoint();
    await expect(copyEvents({ from, to: { ...to, append }, checkpoint })).rejects.toThrow('killed');
    expect(await wholeLog(to)).toHaveLength(appends);
    await copyEvents({ from, to, checkpoint });
    expect((await verifyEvents(from, to)).same).toBe(true);
  });
});

describe('verify', () => {
  const two = async (): Promise<readonly [EventStore, EventStore]> => {
    const [from, to] = [createMemoryEventStore(), createMemoryEventStore()];
    await fillWithHistory(from, 500);
    await copyEvents({ from, to, checkpoint: rememberedCheckpoint() });
    return [from, to];
  };

  it('reports a stream without its last event', async () => {
    const [from, to] = await two();
    await from.append('sample-x', sampleEvents(2), 'no-stream');
    const [first] = await wholeLog(from).then((log) => log.filter(({ stream }) => stream === 'sample-x'));
    await to.append('sample-x', [sampleEvent({ ...pick(first) })], 'no-stream');
    const { same, differences } = await verifyEvents(from, to);
    expect(same).toBe(false);
    expect(differences).toEqual([{ stream: 'sample-x', revision: 1, problem: 'missing in the target' }]);
  });

  it('reports an event that differs in one value, and a stream that is only in the target', async () => {
    const [from, to] = await two();
    const event = sampleEvent();
    await from.append('sample-x', [event], 'no-stream');
    await to.append('sample-x', [{ ...event, data: { ...event.data, text: 'other' } }], 'no-stream');
    await to.append('sample-y', [sampleEvent()], 'no-stream');
    const { same, differences } = await verifyEvents(from, to);
    expect(same).toBe(false);
    expect(new Set(differences)).toEqual(
      new Set([
        { stream: 'sample-x', revision: 0, problem: 'not the same' },
        { stream: 'sample-y', revision: 0, problem: 'only in the target' },
      ]),
    );
  });

  it('reports events in another order', async () => {
    const [from, to] = await two();
    const [one, other] = sampleEvents(2) as [ReturnType<typeof sampleEvent>, ReturnType<typeof sampleEvent>];
    await from.append('sample-x', [one, other], 'no-stream');
    await to.append('sample-x', [other, one], 'no-stream');
    expect((await verifyEvents(from, to)).differences).toEqual([
      { stream: 'sample-x', revision: 0, problem: 'not the same' },
    ]);
  });
});

const pick = (event: RecordedEvent | undefined) =>
  event === undefined ? {} : { id: event.id, type: event.type, data: event.data, metadata: event.metadata };
