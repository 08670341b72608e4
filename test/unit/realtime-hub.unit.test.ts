import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { pino } from 'pino';
import { eventTexts } from '../../query/realtime/frames.ts';
import {
  createHub,
  type Hub,
  type HubTimes,
  type OpenStream,
  type StreamStart,
} from '../../query/realtime/hub.ts';
import type { LiveEntry } from '../../query/realtime/live-feed.ts';
import { createProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import { amount } from '../support/amount.ts';
import { createMemoryFeed, TestSink, type MemoryFeed } from '../support/memory-feed.ts';
import { framesOf, type Frame } from '../support/sse.ts';

const times: HubTimes = {
  heartbeat: 15_000,
  cursor: 60_000,
  blocked: 30_000,
  age: 30 * 60_000,
  ageSpread: 2 * 60_000,
};
const SECOND = 1_000;
const CUSTOMER = 7;

const hubs: Hub[] = [];
afterEach(() => {
  for (const hub of hubs.splice(0)) hub.close();
  jest.useRealTimers();
});

const startHub = (feed: MemoryFeed, options: Partial<Parameters<typeof createHub>[0]> = {}) => {
  const progress = createProjectionProgress();
  const hub = createHub({ feed, progress, times, log: pino({ level: 'silent' }), ...options });
  hubs.push(hub);
  return { hub, announce: () => progress.advanced('notifications') };
};

interface OpenOptions {
  readonly customerId?: number;
  readonly start?: StreamStart;
  readonly wants?: (entry: LiveEntry) => boolean;
  readonly isAllowed?: () => Promise<boolean>;
  readonly expiresAtMs?: number;
}

class Client {
  readonly sink = new TestSink();
  stream: OpenStream | undefined;

  async open(hub: Hub, { wants = () => true, ...options }: OpenOptions = {}): Promise<this> {
    this.stream = await hub.open({
      customerId: CUSTOMER,
      start: 'now',
      texts: eventTexts(wants),
      isAllowed: async () => true,
      expiresAtMs: undefined,
      sink: this.sink,
      begin: () => undefined,
      ...options,
    });
    this.sink.on('close', () => this.stream?.remove());
    return this;
  }

  get frames(): readonly Frame[] {
    return framesOf(this.sink.text);
  }

  get events(): readonly string[] {
    return this.frames.map(({ event }) => event);
  }

  get lastId(): string | undefined {
    return this.frames.findLast(({ id }) => id !== undefined)?.id;
  }
}

/** Until it holds, in turns of the event loop. */
const until = async (holds: () => boolean, turnsMax = 20_000): Promise<void> => {
  for (let turns = 0; !holds(); turns += 1) {
    if (turns === turnsMax) throw new Error('it does not hold');
    await setImmediate();
  }
};

describe('a stream', () => {
  it('begins with a place, gets what happens then, and nothing of other accounts', async () => {
    const feed = createMemoryFeed();
    const { hub, announce } = startHub(feed);
    feed.append(CUSTOMER, 'campaign.created');
    const client = await new Client().open(hub);
    feed.append(CUSTOMER, 'creative.created');
    feed.append(8, 'creative.updated');
    feed.append(CUSTOMER, 'creative.archived');
    announce();
    await until(() => client.frames.length === 3);
    expect(client.events).toEqual(['ready', 'creative.created', 'creative.archived']);
    expect(client.sink.text).toMatch(/^retry: [12]\d{3}\nid: \S+\nevent: ready\ndata: \{\}\n\n/);
  });

  it('gets only what it wants, and all kept notifications when it asks for the earliest', async () => {
    const feed = createMemoryFeed();
    const { hub } = startHub(feed);
    for (const kind of ['a.b', 'c.d', 'a.e']) feed.append(CUSTOMER, kind);
    const client = await new Client().open(hub, {
      start: 'earliest',
      wants: ({ kind }) => kind.startsWith('a.'),
    });
    await until(() => client.frames.length === 3);
    expect(client.events).toEqual(['ready', 'a.b', 'a.e']);
  });

  it('resumes after the last id; an id older than the oldest kept one gives `reset`, then what happens now', async () => {
    const feed = createMemoryFeed();
    const { hub } = startHub(feed);
    const [first] = ['a.a', 'a.b', 'a.c'].map((kind) => feed.append(CUSTOMER, kind));
    const start = first?.place ?? 'now';
    const resumed = await new Client().open(hub, { start });
    await until(() => resumed.frames.length === 3);
    expect(resumed.events).toEqual(['ready', 'a.b', 'a.c']);

    const old = { position: '0000000001', idx: 0, at: new Date(Date.now() - 31 * 86_400_000).toISOString() };
    const late = await new Client().open(hub, { start: old });
    feed.append(CUSTOMER, 'a.d');
    await until(() => late.frames.length === 3);
    expect(late.events).toEqual(['ready', 'reset', 'a.d']);
    const oldest = Date.parse((JSON.parse(late.frames[1]?.data ?? '') as { oldest: string }).oldest);
    expect(Math.abs(Date.now() - 30 * 86_400_000 - oldest)).toBeLessThan(10 * SECOND);
  });

  it('does not repeat what another node has sent that is ahead of this one', async () => {
    const feed = createMemoryFeed();
    const { hub, announce } = startHub(feed);
    const here = await new Client().open(hub);
    const { place } = feed.append(CUSTOMER, 'a.a');
    const fromThere = await new Client().open(hub, { start: place });
    feed.append(CUSTOMER, 'a.b');
    announce();
    await until(() => here.frames.length === 3 && fromThere.frames.length > 1);
    expect(fromThere.events).toEqual(['ready', 'a.b']);
  });

  it('is found by polling when another process applies the feed', async () => {
    const feed = createMemoryFeed();
    const client = await new Client().open(startHub(feed).hub);
    feed.append(CUSTOMER, 'a.a');
    const startMs = performance.now();
    await until(() => client.frames.length === 2, 1_000_000);
    expect(performance.now() - startMs).toBeLessThan(500);
  });

  it('misses nothing while the feed is rebuilt, and gets nothing twice', async () => {
    const feed = createMemoryFeed();
    const { hub, announce } = startHub(feed);
    for (let n = 0; n < 200; n += 1) feed.append(CUSTOMER, 'a.a');
    const open = await new Client().open(hub);
    feed.rebuiltTo = 0;
    const [late, resumed] = [
      await new Client().open(hub),
      await new Client().open(hub, { start: feed.rows[99]?.place ?? 'now' }),
    ];
    for (feed.rebuiltTo = 0; feed.rebuiltTo < 200; feed.rebuiltTo += 20) {
      announce();
      await until(() => feed.asked.news > 0 && feed.asked.page > 0);
    }
    feed.rebuiltTo = Infinity;
    feed.append(CUSTOMER, 'a.b');
    announce();
    await until(() => [open, late, resumed].every(({ events }) => events.includes('a.b')));
    expect(open.events).toEqual(['ready', 'a.b']);
    expect(late.events).toEqual(['ready', 'a.b']);
    expect(resumed.events).toEqual(['ready', ...Array<string>(100).fill('a.a'), 'a.b']);
  });
});

describe('what a stream costs', () => {
  it('all streams of an account share the statements, and idle accounts cost none', async () => {
    const feed = createMemoryFeed();
    const { hub, announce } = startHub(feed);
    const clients = await Promise.all(Array.from({ length: 50 }, () => new Client().open(hub)));
    const idle = await Promise.all(
      Array.from({ length: 50 }, (_, n) => new Client().open(hub, { customerId: 100 + n })),
    );
    expect(feed.asked.end).toBeLessThanOrEqual(100);
    feed.append(CUSTOMER, 'a.a');
    announce();
    await until(() => clients.every(({ frames }) => frames.length === 2));
    expect(feed.asked.page).toBe(1);
    expect(idle.every(({ frames }) => frames.length === 1)).toBe(true);
  });

  it('a process without streams does not poll', async () => {
    const feed = createMemoryFeed();
    const { hub, announce } = startHub(feed);
    const client = await new Client().open(hub);
    client.sink.cut();
    await until(() => hub.size() === 0);
    announce();
    await new Promise((resolve) => setTimeout(resolve, 150));
    const { news } = feed.asked;
    announce();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(feed.asked.news).toBe(news);
  });
});

it('what arrives while an account is read is read at once', async () => {
  let turnsOfPages = 0;
  const feed = createMemoryFeed(() => turnsOfPages);
  const { hub, announce } = startHub(feed);
  const client = await new Client().open(hub);
  turnsOfPages = 20;
  feed.append(CUSTOMER, 'a.a');
  announce();
  await until(() => feed.asked.page === 1);
  for (let left = 30; left > 0; left -= 1) await setImmediate();
  feed.append(CUSTOMER, 'a.b');
  announce();
  // Within fewer turns than a poll takes milliseconds.
  await until(() => client.frames.length === 3, 200);
});

describe('a client that does not read', () => {
  it('holds back only itself, is sent no more than one buffer, and misses nothing when it reads on', async () => {
    const feed = createMemoryFeed();
    const { hub, announce } = startHub(feed);
    const [slow, fast] = [await new Client().open(hub), await new Client().open(hub)];
    slow.sink.stopReading();
    for (let n = 0; n < 30; n += 1) {
      for (let m = 0; m < 100; m += 1) feed.append(CUSTOMER, 'a.a');
      announce();
      await until(() => fast.frames.length === 1 + (n + 1) * 100);
    }
    // 50 frames of about 200 bytes.
    expect(slow.sink.writableLength).toBeLessThan(20_000);
    slow.sink.goOn();
    await until(() => slow.frames.length === 3_001);
    expect(slow.frames.map(({ id }) => id).slice(1)).toEqual(fast.frames.map(({ id }) => id).slice(1));
  });
});

describe('over time', () => {
  /** Time passes by hand, in steps of the hub's tick. */
  const startTimed = (feed: MemoryFeed) => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const started = startHub(feed, {
      clock: { now: () => performance.now(), timeOfDay: () => Date.now(), random: () => 0.5 },
    });
    const pass = async (ms: number): Promise<void> => {
      for (let left = ms; left > 0; left -= SECOND) {
        await jest.advanceTimersByTimeAsync(Math.min(SECOND, left));
        await setImmediate();
      }
    };
    return { ...started, pass };
  };

  it('an idle stream gets a comment every 15 s, and a cursor every 60 s that has moved on', async () => {
    const feed = createMemoryFeed();
    const { hub, pass } = startTimed(feed);
    const client = await new Client().open(hub);
    const firstId = client.lastId ?? '';
    for (let n = 0; n < 5; n += 1) feed.append(8, 'a.a');
    await pass(58 * SECOND);
    expect(client.sink.text.split(':\n\n').length - 1).toBe(3);
    expect(client.events).toEqual(['ready']);
    await pass(4 * SECOND);
    expect(client.events).toEqual(['ready', 'cursor']);
    expect(feed.placeOf(client.lastId ?? '').position > feed.placeOf(firstId).position).toBe(true);
  });

  it('it ends after about half an hour, with `bye`', async () => {
    const { hub, pass } = startTimed(createMemoryFeed());
    const client = await new Client().open(hub);
    await pass(29 * 60 * SECOND);
    expect(client.events).not.toContain('bye');
    await pass(2 * 60 * SECOND);
    expect(client.frames.at(-1)).toEqual({ event: 'bye', data: '{"reason":"age"}' });
    expect(hub.size()).toBe(0);
  });

  it('it ends when its credential expires', async () => {
    const { hub, pass } = startTimed(createMemoryFeed());
    const client = await new Client().open(hub, { expiresAtMs: performance.now() + 10 * SECOND });
    await pass(9 * SECOND);
    expect(client.events).toEqual(['ready']);
    await pass(2 * SECOND);
    expect(client.frames.at(-1)).toEqual({ event: 'bye', data: '{"reason":"credential"}' });
  });

  it('a client that reads nothing for 30 s is cut', async () => {
    const feed = createMemoryFeed();
    const { hub, announce, pass } = startTimed(feed);
    const client = await new Client().open(hub);
    client.sink.stopReading();
    for (let n = 0; n < 200; n += 1) feed.append(CUSTOMER, 'a.a');
    announce();
    await pass(28 * SECOND);
    expect(client.sink.destroyed).toBe(false);
    await pass(5 * SECOND);
    expect(client.sink.destroyed).toBe(true);
    expect(hub.size()).toBe(0);
  });
});

describe('a change of credentials', () => {
  it('ends the streams whose credential is refused, before anything later is sent', async () => {
    const feed = createMemoryFeed();
    const { hub, announce } = startHub(feed);
    let isRevoked = false;
    const revoked = await new Client().open(hub, { isAllowed: async () => !isRevoked });
    const other = await new Client().open(hub);
    await until(() => feed.asked.isAccessKnown === 2);
    isRevoked = true;
    feed.append(CUSTOMER, 'access.changed');
    feed.append(CUSTOMER, 'a.a');
    announce();
    await until(() => other.frames.length === 2);
    expect(other.events).toEqual(['ready', 'a.a']);
    expect(revoked.frames.slice(1)).toEqual([{ event: 'bye', data: '{"reason":"credential"}' }]);
  });

  it('is not overtaken by a stream that reads the table', async () => {
    const feed = createMemoryFeed();
    const { hub, announce } = startHub(feed);
    for (let n = 0; n < 100; n += 1) feed.append(CUSTOMER, 'a.a');
    const watching = await new Client().open(hub);
    await until(() => feed.asked.isAccessKnown === 1);
    feed.isAccessBehind = true;
    feed.append(CUSTOMER, 'access.changed');
    feed.append(CUSTOMER, 'a.b');
    announce();
    await until(() => feed.asked.isAccessKnown === 2, 1_000_000);
    const late = await new Client().open(hub, { start: 'earliest' });
    await until(() => feed.asked.isAccessKnown >= 5, 1_000_000);
    expect([watching.frames.length, late.frames.length]).toEqual([1, 101]);
    feed.isAccessBehind = false;
    await until(() => late.frames.length === 102 && watching.frames.length === 2, 1_000_000);
  });

  it('waits for the tables of credentials: until then a revoked key would still be accepted', async () => {
    const feed = createMemoryFeed();
    const { hub, announce } = startHub(feed);
    let isRevoked = false;
    const client = await new Client().open(hub, { isAllowed: async () => !isRevoked });
    await until(() => feed.asked.isAccessKnown === 1);
    feed.isAccessBehind = true;
    feed.append(CUSTOMER, 'access.changed');
    feed.append(CUSTOMER, 'a.a');
    announce();
    await until(() => feed.asked.isAccessKnown >= 3, 1_000_000);
    expect(client.events).toEqual(['ready']);
    [isRevoked, feed.isAccessBehind] = [true, false];
    await until(() => client.frames.length === 2, 1_000_000);
    expect(client.events).toEqual(['ready', 'bye']);
  });

  it('between the verification of a new stream and its registration is noticed', async () => {
    const feed = createMemoryFeed();
    const { hub } = startHub(feed);
    const client = await new Client().open(hub, { isAllowed: async () => false });
    await until(() => client.frames.length === 2);
    expect(client.events).toEqual(['ready', 'bye']);
  });

  it('a failed check is repeated, and holds back what follows', async () => {
    const feed = createMemoryFeed();
    const { hub, announce } = startHub(feed);
    let failures = 0;
    const isAllowed = async (): Promise<boolean> => {
      if (failures === 0) return true;
      failures -= 1;
      throw new Error('the database does not answer');
    };
    const client = await new Client().open(hub, { isAllowed });
    await until(() => feed.asked.isAccessKnown === 1);
    failures = 3;
    feed.append(CUSTOMER, 'access.changed');
    feed.append(CUSTOMER, 'a.a');
    announce();
    await until(() => client.frames.length === 2, 1_000_000);
    expect([failures, client.events]).toEqual([0, ['ready', 'a.a']]);
  });
});

it('at the end of the process all streams get `bye`, also those that are opened then', async () => {
  const { hub } = startHub(createMemoryFeed());
  const client = await new Client().open(hub);
  hub.close();
  const late = await new Client().open(hub);
  for (const { frames } of [client, late]) {
    expect(frames.map(({ event }) => event)).toEqual(['ready', 'bye']);
    expect(frames.at(-1)?.data).toBe('{"reason":"shutdown"}');
  }
});

describe('any cuts of connections', () => {
  type Step =
    | { readonly what: 'append'; readonly rows: number; readonly announcedTo: readonly number[] }
    | { readonly what: 'cut' | 'stop' | 'goOn' | 'open'; readonly client: number; readonly node: number }
    | { readonly what: 'wait'; readonly turns: number };

  const CLIENTS = 3;
  const client = fc.nat(CLIENTS - 1);
  const appended = (min: number, max: number): fc.Arbitrary<Step> =>
    fc.record({
      what: fc.constant('append' as const),
      rows: fc.integer({ min, max }),
      announcedTo: fc.subarray([0, 1]),
    });
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: appended(1, 4) },
    { weight: 1, arbitrary: appended(60, 900) },
    {
      weight: 5,
      arbitrary: fc.record({
        what: fc.constantFrom('cut' as const, 'stop', 'goOn', 'open'),
        client,
        node: fc.nat(1),
      }),
    },
    { weight: 4, arbitrary: fc.record({ what: fc.constant('wait' as const), turns: fc.nat(12) }) },
  );

  /** Reconnects with the last id that it has seen, as `EventSource` does, to either of two nodes. */
  class Reader {
    received: Frame[] = [];
    /** Where the first `ready` of its life was. */
    from: string | undefined;
    #lastId: string | undefined;
    #current: Client | undefined;
    readonly #feed: MemoryFeed;
    readonly #wants: (entry: LiveEntry) => boolean;

    constructor(feed: MemoryFeed, wants: (entry: LiveEntry) => boolean) {
      this.#feed = feed;
      this.#wants = wants;
    }

    async open(hub: Hub): Promise<void> {
      if (this.#current !== undefined) return;
      const start = this.#lastId === undefined ? 'now' : this.#feed.placeOf(this.#lastId);
      this.#current = await new Client().open(hub, { start, wants: this.#wants });
    }

    stop = (): void => this.#current?.sink.stopReading();
    goOn = (): void => this.#current?.sink.goOn();

    cut(): void {
      this.#current?.sink.cut();
      this.take();
      this.#current = undefined;
    }

    take(): void {
      const frames = this.#current?.frames ?? [];
      if (this.#current !== undefined) this.#current.sink.text = '';
      for (const frame of frames) {
        if (frame.event === 'ready') this.from ??= frame.id;
        else this.received.push(frame);
        this.#lastId = frame.id ?? this.#lastId;
      }
    }
  }

  it('every client gets each of its notifications once and in order, over all its connections', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 60 }),
        fc.infiniteStream(fc.nat(4)),
        async (steps, turns) => {
          const feed = createMemoryFeed(() => turns.next().value ?? 0);
          const nodes = [startHub(feed), startHub(feed)] as const;
          const wants = [
            () => true,
            ({ kind }: LiveEntry) => kind === 'a.a',
            ({ kind }: LiveEntry) => kind === 'b.b',
          ];
          const readers = wants.map((one) => new Reader(feed, one));
          const announce = (): void => nodes.forEach((node) => node.announce());
          for (const one of steps) {
            switch (one.what) {
              case 'append':
                for (let n = 0; n < one.rows; n += 1)
                  feed.append(n % 5 === 4 ? 8 : CUSTOMER, n % 3 === 0 ? 'a.a' : 'b.b');
                for (const node of one.announcedTo) nodes[node === 0 ? 0 : 1].announce();
                break;
              case 'open':
                await readers[one.client]?.open(nodes[one.node === 0 ? 0 : 1].hub);
                break;
              case 'wait':
                for (let left = one.turns; left > 0; left -= 1) await setImmediate();
                break;
              case 'cut':
              case 'stop':
              case 'goOn':
                readers[one.client]?.[one.what]();
                break;
              default:
                throw new Error(`unknown step ${JSON.stringify(one satisfies never)}`);
            }
          }
          for (const reader of readers) {
            reader.goOn();
            await reader.open(nodes[0].hub);
          }
          const expected = (reader: Reader, n: number): readonly string[] => {
            const from = feed.placeOf(reader.from ?? '').position;
            return feed.rows
              .filter(({ customerId, place, kind }) => {
                const entry = {
                  place,
                  kind,
                  advertiserId: undefined,
                  path: undefined,
                  changesAccess: false,
                  frame: '',
                };
                return customerId === CUSTOMER && place.position > from && wants[n]?.(entry) === true;
              })
              .map(({ place }) => `{"n":"${place.position}"}`);
          };
          await until(() => {
            readers.forEach((reader) => reader.take());
            announce();
            return readers.every((reader, n) => reader.received.length >= expected(reader, n).length);
          });
          for (let left = 20; left > 0; left -= 1) await setImmediate();
          readers.forEach((reader, n) => {
            reader.take();
            expect(reader.received.map(({ data }) => data)).toEqual(expected(reader, n));
          });
          nodes.forEach(({ hub }) => hub.close());
        },
      ),
      { numRuns: amount(150, 3_000) },
    );
  }, 600_000);
});
