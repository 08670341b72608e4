import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  CancelledError,
  DeadlineExceededError,
  EventStoreDBClient,
  MaxAppendSizeExceededError,
  NotLeaderError,
  StreamDeletedError,
  StreamNotFoundError,
  TimeoutError,
  UnavailableError,
  UnknownError,
  WrongExpectedVersionError,
  binaryEvent,
  eventTypeFilter,
  excludeSystemEvents,
  streamNameFilter,
  type AppendExpectedRevision,
  type Filter,
  type Position,
} from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  append,
  disconnect,
  event,
  events,
  newStream,
  positionOf,
  toArray,
  until,
  watch,
  type Path,
} from '../support/eventstoredb/client-kit.ts';
import { createEventLog } from '../support/eventstoredb/event-log.ts';
import {
  startEventStoreService,
  type EventStoreService,
  type EventStoreServiceOptions,
} from '../support/eventstoredb/event-store-service.ts';

let service: EventStoreService;
let client: EventStoreDBClient;
const open = async (options: EventStoreServiceOptions = {}): Promise<void> => {
  service = await startEventStoreService(options);
  client = EventStoreDBClient.connectionString(service.url);
};
const shut = async (): Promise<void> => {
  await disconnect(client);
  await service.close();
};
const restart = async (log = service.log): Promise<void> => {
  const { port } = service;
  await service.close();
  service = await startEventStoreService({ port, log });
};
/** Until the client has noticed that its connection is gone and has another one. */
const answering = async (): Promise<void> => {
  for (let attempts = 1; ; attempts += 1) {
    try {
      await toArray(client.readAll({ maxCount: 1 }));
      return;
    } catch (error) {
      if (!(error instanceof UnavailableError) || attempts === 50) throw error;
    }
  }
};
const countOf = (stream: string): number => service.log.eventsOf(stream).length;

describe.each<Path>(['batch', 'unary'])('an append by %s', (path) => {
  beforeAll(() => open());
  afterAll(shut);
  const write = (
    stream: string,
    written: Parameters<typeof append>[2],
    expected: AppendExpectedRevision,
  ): ReturnType<typeof append> => append(client, stream, written, expected, path);

  it('takes the way it was meant to take', async () => {
    const before = { ...service.calls };
    await write(newStream(), events(1), 'any');
    expect(service.calls['batch-append'] - before['batch-append']).toBe(path === 'batch' ? 1 : 0);
    expect(service.calls.append - before.append).toBe(path === 'unary' ? 1 : 0);
  });

  /**
   * The server's own sequences: `0em1` is event 0 written with the expected revision -1, `S_..._E` one append of
   * several events.
   */
  it.each<{
    name: string;
    count: number;
    at: 'once' | 'one by one';
    then: [index: number, expected: AppendExpectedRevision][];
    outcome: 'idempotent' | 'written again' | 'refused';
  }>([
    {
      name: '0em1_..._5e4_0em1',
      count: 6,
      at: 'one by one',
      then: [[0, 'no_stream']],
      outcome: 'idempotent',
    },
    { name: '0em1_..._4e4_0any', count: 6, at: 'one by one', then: [[0, 'any']], outcome: 'idempotent' },
    { name: '0em1_..._5e4_0e5', count: 6, at: 'one by one', then: [[0, 5n]], outcome: 'written again' },
    { name: '0em1_..._5e4_0e6', count: 6, at: 'one by one', then: [[0, 6n]], outcome: 'refused' },
    { name: '0em1_..._5e4_0e4', count: 6, at: 'one by one', then: [[0, 4n]], outcome: 'refused' },
    { name: '0em1_0e0', count: 1, at: 'once', then: [[0, 0n]], outcome: 'written again' },
    { name: '0em1_0any', count: 1, at: 'once', then: [[0, 'any']], outcome: 'idempotent' },
    { name: '0em1_0em1', count: 1, at: 'once', then: [[0, 'no_stream']], outcome: 'idempotent' },
    {
      name: '0em1_1e0_2e1_1any_1any',
      count: 3,
      at: 'one by one',
      then: [
        [1, 'any'],
        [1, 'any'],
      ],
      outcome: 'idempotent',
    },
    { name: 'S_0em1_1em1_E_S_0em1_E', count: 2, at: 'once', then: [[0, 'no_stream']], outcome: 'idempotent' },
    { name: 'S_0em1_1em1_E_S_0any_E', count: 2, at: 'once', then: [[0, 'any']], outcome: 'idempotent' },
    { name: 'S_0em1_1em1_E_S_1e0_E', count: 2, at: 'once', then: [[1, 0n]], outcome: 'idempotent' },
    { name: 'S_0em1_1em1_E_S_1any_E', count: 2, at: 'once', then: [[1, 'any']], outcome: 'idempotent' },
  ])('sequence $name is $outcome', async ({ count, at, then, outcome }) => {
    const stream = newStream();
    const written = events(count);
    if (at === 'once') await write(stream, written, 'no_stream');
    else {
      for (const [index, one] of written.entries()) {
        await write(stream, [one], index === 0 ? 'no_stream' : BigInt(index - 1));
      }
    }
    for (const [index, expected] of then) {
      const again = write(stream, written.slice(index, index + 1), expected);
      if (outcome === 'refused') await expect(again).rejects.toBeInstanceOf(WrongExpectedVersionError);
      else expect(await again).toMatchObject({ success: true });
    }
    expect(countOf(stream)).toBe(outcome === 'written again' ? count + 1 : count);
  });

  it('sequence S_0em1_1em1_E_S_0em1_1em1_2em1_E is refused', async () => {
    const stream = newStream();
    const written = events(2);
    await write(stream, written, 'no_stream');
    const longer = write(stream, [...written, event()], 'no_stream');
    await expect(longer).rejects.toMatchObject({ type: 'wrong-expected-version', actualVersion: 1n });
    expect(countOf(stream)).toBe(2);
  });

  it('answers a repetition with the revision and position of what was repeated, not of the stream', async () => {
    const stream = newStream();
    const written = events(3);
    const first = await write(stream, written.slice(0, 2), 'no_stream');
    expect(first).toMatchObject({ nextExpectedRevision: 1n });
    await write(stream, written.slice(2), 1n);
    expect(await write(stream, written.slice(0, 2), 'no_stream')).toEqual(first);
    expect(await write(stream, written.slice(0, 2), 'any')).toEqual(first);
  });

  it('looks at the first id only when any revision will do, unless that one is known', async () => {
    const stream = newStream();
    const written = events(2);
    await write(stream, written, 'any');
    await expect(write(stream, [...written, event()], 'any')).rejects.toMatchObject({ actualVersion: 1n });
    await write(stream, [event(), ...written], 'any');
    expect(countOf(stream)).toBe(5);
    await write(newStream(), written, 'any');
    expect(countOf(stream)).toBe(5);
  });

  it('says what was expected and what there is', async () => {
    const stream = newStream();
    for (const expected of [0n, 'stream_exists'] as const) {
      await expect(write(stream, events(1), expected)).rejects.toMatchObject({
        streamName: stream,
        expectedVersion: expected,
        actualVersion: 'no_stream',
      });
    }
    await write(stream, events(3), 'no_stream');
    await expect(write(stream, events(1), 'no_stream')).rejects.toMatchObject({
      expectedVersion: 'no_stream',
      actualVersion: 2n,
    });
    expect(await write(stream, events(1), 'stream_exists')).toMatchObject({ nextExpectedRevision: 3n });
  });

  it('continues the numbering of a soft-deleted stream', async () => {
    const stream = newStream();
    const written = events(2);
    await write(stream, written, 'no_stream');
    await client.deleteStream(stream, { expectedRevision: 1n });
    await expect(write(stream, events(1), 'stream_exists')).rejects.toBeInstanceOf(StreamDeletedError);
    expect(await write(stream, events(1), 'no_stream')).toMatchObject({ nextExpectedRevision: 2n });
    expect((await toArray(client.readStream(stream))).map((read) => read.event?.revision)).toEqual([2n]);
    await client.deleteStream(stream);
    expect(await write(stream, events(1), 2n)).toMatchObject({ nextExpectedRevision: 3n });
    expect((await client.getStreamMetadata(stream)).metadata).toEqual({ truncateBefore: 3 });
    expect(await write(stream, written, 'no_stream')).toMatchObject({
      nextExpectedRevision: 1n,
      position: undefined,
    });
  });

  it('is refused for ever once there is a tombstone', async () => {
    const stream = newStream();
    await write(stream, events(1), 'no_stream');
    await client.tombstoneStream(stream);
    for (const expected of ['any', 'no_stream', 'stream_exists', 0n, 1n] as const) {
      await expect(write(stream, events(1), expected)).rejects.toMatchObject({
        type: 'stream-deleted',
        streamName: stream,
      });
    }
  });

  it('is refused whole when it is too large', async () => {
    const stream = newStream();
    const large = () => event({ data: { text: 'x'.repeat(400_000) } });
    await expect(write(stream, [large(), large(), large()], 'any')).rejects.toMatchObject({
      type: 'maximum-append-size-exceeded',
      maxAppendSize: 1_048_576,
    });
    expect(countOf(stream)).toBe(0);
    await write(stream, [large(), large()], 'no_stream');
  });

  it('forgets ids for any revision when the server restarts, and never those at exact revisions', async () => {
    const stream = newStream();
    const written = events(2);
    await write(stream, written, 'no_stream');
    await restart();
    await answering();
    expect(await write(stream, written, 'no_stream')).toMatchObject({ nextExpectedRevision: 1n });
    expect(countOf(stream)).toBe(2);
    await write(stream, written, 'any');
    expect(countOf(stream)).toBe(4);
  });
});

describe('an append in several chunks', () => {
  beforeAll(() => open());
  afterAll(shut);

  it('is one append', async () => {
    const stream = newStream();
    const result = await client.appendToStream(stream, events(20), { batchAppendSize: 200 });
    expect(result.nextExpectedRevision).toBe(19n);
    expect(service.calls['batch-append']).toBe(1);
    await expect(
      client.appendToStream(stream, events(20), { batchAppendSize: 200, expectedRevision: 3n }),
    ).rejects.toBeInstanceOf(WrongExpectedVersionError);
    expect(countOf(stream)).toBe(20);
  });

  it('times out at once when the clocks are further apart than its deadline', async () => {
    const late = client.appendToStream(newStream(), events(1), { deadline: -1 });
    await expect(late).rejects.toBeInstanceOf(DeadlineExceededError);
  });
});

describe('a read', () => {
  const stream = 'read-1';
  let written: Position[];
  beforeAll(async () => {
    await open();
    await append(client, stream, events(3), 'no_stream');
    await append(client, 'other-1', [event({ type: 'Other', data: { text: 'grüezi 👋' } })], 'any');
    await append(client, stream, events(2), 2n);
    written = (await toArray(client.readAll())).map(positionOf);
  });
  afterAll(shut);
  const revisions = async (...[options]: [Parameters<EventStoreDBClient['readStream']>[1]?]) =>
    (await toArray(client.readStream(stream, options))).map((read) => Number(read.event?.revision));

  it('goes through a stream in both directions, from a revision and for a number of events', async () => {
    expect(await revisions()).toEqual([0, 1, 2, 3, 4]);
    expect(await revisions({ fromRevision: 3n })).toEqual([3, 4]);
    expect(await revisions({ fromRevision: 1n, maxCount: 2 })).toEqual([1, 2]);
    expect(await revisions({ fromRevision: 9n })).toEqual([]);
    expect(await revisions({ direction: 'backwards', fromRevision: 'end' })).toEqual([4, 3, 2, 1, 0]);
    expect(await revisions({ direction: 'backwards', fromRevision: 2n, maxCount: 2 })).toEqual([2, 1]);
    expect(await revisions({ direction: 'backwards', fromRevision: 'start' })).toEqual([0]);
  });

  it('gives back what was written', async () => {
    const [read] = await toArray(client.readStream('other-1'));
    expect(read?.event).toMatchObject({
      streamId: 'other-1',
      type: 'Other',
      isJson: true,
      data: { text: 'grüezi 👋' },
      revision: 0n,
      position: written[3],
    });
    expect(Math.abs(Date.now() - (read?.event?.created.getTime() ?? 0))).toBeLessThan(60_000);
  });

  it('knows missing, deleted and truncated streams', async () => {
    await expect(toArray(client.readStream('none'))).rejects.toBeInstanceOf(StreamNotFoundError);
    await append(client, 'soft', events(1), 'any');
    await client.deleteStream('soft');
    await expect(toArray(client.readStream('soft'))).rejects.toBeInstanceOf(StreamNotFoundError);
    await client.tombstoneStream('hard');
    await expect(toArray(client.readStream('hard'))).rejects.toBeInstanceOf(StreamDeletedError);
    await expect(client.deleteStream('hard')).rejects.toBeInstanceOf(StreamDeletedError);
    await expect(client.deleteStream('never')).rejects.toMatchObject({
      type: 'wrong-expected-version',
      expectedVersion: -2n,
      actualVersion: -1n,
    });
    await append(client, 'truncated', events(5), 'any');
    await client.setStreamMetadata('truncated', { truncateBefore: 2, maxCount: 2 });
    const left = await toArray(client.readStream('truncated'));
    expect(left.map((read) => read.event?.revision)).toEqual([3n, 4n]);
    const all = (await toArray(client.readAll())).map((read) => read.event?.streamId);
    expect(all.filter((name) => name === 'truncated')).toHaveLength(5);
  });

  it('goes through all streams in the order of commits, at positions with gaps', async () => {
    const all = await toArray(client.readAll({ maxCount: 6 }));
    expect(all.map((read) => read.event?.streamId)).toEqual([
      stream,
      stream,
      stream,
      'other-1',
      stream,
      stream,
    ]);
    for (const [index, { commit, prepare }] of written.entries()) {
      expect(commit).toBe(prepare);
      expect(commit - (written[index - 1]?.commit ?? 0n)).toBeGreaterThan(1n);
    }
  });

  it('starts at a position, backwards before it, and nowhere between two events', async () => {
    const at = written[2] ?? { commit: 0n, prepare: 0n };
    const positions = async (direction: 'forwards' | 'backwards', fromPosition: Position) =>
      (await toArray(client.readAll({ direction, fromPosition, maxCount: 2 }))).map(positionOf);
    expect(await positions('forwards', at)).toEqual(written.slice(2, 4));
    expect(await positions('backwards', at)).toEqual([written[1], written[0]]);
    const between = { commit: at.commit + 1n, prepare: at.prepare + 1n };
    await expect(positions('forwards', between)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  it('resolves links when asked to, and gives the link alone when it leads nowhere', async () => {
    const link = (to: string) => binaryEvent({ type: '$>', data: Buffer.from(to) });
    await client.appendToStream('links', [link(`1@${stream}`), link('7@none')]);
    const raw = await toArray(client.readStream('links'));
    expect(raw.map((read) => Buffer.from(read.event?.data as Uint8Array).toString())).toEqual([
      `1@${stream}`,
      '7@none',
    ]);
    const resolved = await toArray(client.readStream('links', { resolveLinkTos: true }));
    expect(resolved).toMatchObject([
      { event: { streamId: stream, revision: 1n }, link: { streamId: 'links', revision: 0n } },
      { link: { streamId: 'links', revision: 1n } },
    ]);
    expect(resolved[1]?.event).toBeUndefined();
  });
});

describe('a subscription', () => {
  beforeEach(() => open());
  afterEach(shut);
  const fill = async (stream: string, count: number, type?: string): Promise<void> => {
    const filling = Array.from({ length: count }, () => event(type === undefined ? {} : { type }));
    await append(client, stream, filling, 'any');
  };
  const positions = (): Position[] =>
    service.log.records.map(({ position }) => ({ commit: position, prepare: position }));

  it('to all confirms, gives every event in order, says that it has caught up, and goes on', async () => {
    await fill('a-1', 3);
    await fill('b-1', 2);
    const subscription = client.subscribeToAll();
    const { seen, events: received, ended } = watch(subscription);
    await until(() => seen.includes('caughtUp'));
    expect(seen[0]).toBe('confirmation');
    await fill('a-1', 100);
    await fill('c-1', 1);
    await until(() => received.length === 106);
    expect(received.map(positionOf)).toEqual(positions());
    expect(seen.filter((one) => one === 'caughtUp')).toHaveLength(1);
    expect(service.subscriptions).toBe(1);
    await subscription.unsubscribe();
    expect(await ended).toBe('end');
    await until(() => service.subscriptions === 0);
  });

  it('to all begins after its position, be it a record, the end, or beyond the end of a log that was cut', async () => {
    await fill('a-1', 5);
    const [, second, ...rest] = positions();
    const from = watch(client.subscribeToAll({ fromPosition: second ?? 'start' }));
    const atEnd = watch(client.subscribeToAll({ fromPosition: 'end' }));
    const far = { commit: service.log.end + 500n, prepare: service.log.end + 500n };
    const beyond = watch(client.subscribeToAll({ fromPosition: far }));
    await until(() => [from, atEnd, beyond].every(({ seen }) => seen.includes('caughtUp')));
    expect(from.events.map(positionOf)).toEqual(rest);
    await fill('a-1', 1);
    await until(() => atEnd.events.length === 1 && from.events.length === 4);
    expect(beyond.events).toHaveLength(0);
    await fill('a-1', 20);
    await until(() => atEnd.events.length === 21 && beyond.events.length > 0);
    expect(beyond.events.map(positionOf)).toEqual(positions().filter(({ commit }) => commit > far.commit));
  });

  it('to all refuses a position between two records', async () => {
    await fill('a-1', 2);
    const at = (positions()[0]?.commit ?? 0n) + 1n;
    const { ended } = watch(client.subscribeToAll({ fromPosition: { commit: at, prepare: at } }));
    expect(await ended).toMatchObject({ type: 'unknown', code: status.INVALID_ARGUMENT });
  });

  it('to a stream begins after its revision, also before the stream is there', async () => {
    await fill('a-1', 3);
    const all = watch(client.subscribeToStream('a-1'));
    const rest = watch(client.subscribeToStream('a-1', { fromRevision: 1n }));
    const live = watch(client.subscribeToStream('a-1', { fromRevision: 'end' }));
    const early = watch(client.subscribeToStream('later-1'));
    await until(() => [all, rest, live, early].every(({ seen }) => seen.includes('caughtUp')));
    await fill('a-1', 1);
    await fill('later-1', 1);
    await until(() => live.events.length === 1 && early.events.length === 1 && all.events.length === 4);
    expect(rest.events.map((one) => one.event?.revision)).toEqual([2n, 3n]);
    await client.tombstoneStream('a-1');
    expect(await all.ended).toBeInstanceOf(StreamDeletedError);
  });

  it('gives a slow consumer everything in order', async () => {
    for (let n = 0; n < 10; n += 1) await fill('a-1', 300);
    const received: (bigint | undefined)[] = [];
    for await (const { event: recorded } of client.subscribeToAll()) {
      received.push(recorded?.revision);
      if (received.length % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
      if (received.length === 3_000) break;
    }
    expect(received).toEqual([...Array(3_000).keys()].map(BigInt));
  });

  const filtered = async (filter: Filter): Promise<string[]> => {
    const { seen, events: received } = watch(client.subscribeToAll({ filter }));
    await until(() => seen.includes('caughtUp'));
    return received.map((one) => `${one.event?.streamId} ${one.event?.type}`);
  };

  it('takes the events that its filter names', async () => {
    await fill('a-1', 1, 'One');
    await fill('b-1', 1, 'Two');
    await fill('ab-1', 1, 'Three');
    await client.setStreamMetadata('a-1', { maxCount: 9 });
    expect(await filtered(streamNameFilter({ prefixes: ['a-', 'b'] }))).toEqual(['a-1 One', 'b-1 Two']);
    expect(await filtered(streamNameFilter({ regex: '^a.*' }))).toEqual(['a-1 One', 'ab-1 Three']);
    expect(await filtered(eventTypeFilter({ prefixes: ['T'] }))).toEqual(['b-1 Two', 'ab-1 Three']);
    expect(await filtered(eventTypeFilter({ regex: 'e$' }))).toEqual(['a-1 One', 'ab-1 Three']);
    expect(await filtered(excludeSystemEvents())).toHaveLength(3);
    expect(await filtered(streamNameFilter({ prefixes: ['$$'] }))).toEqual(['$$a-1 $metadata']);
  });

  it('reports checkpoints at the interval and before it has caught up, after the events they cover', async () => {
    for (let n = 0; n < 10; n += 1) {
      await fill('noise-1', 9, 'Noise');
      await fill('wanted-1', 1, 'Wanted');
    }
    const order: (bigint | string)[] = [];
    const filter = streamNameFilter({
      prefixes: ['wanted'],
      maxSearchWindow: 10,
      checkpointInterval: 2,
      checkpointReached: (_, { commit }) => void order.push(commit),
    });
    const subscription = client.subscribeToAll({ filter });
    subscription
      .on('data', ({ event: recorded }) => void order.push(`${recorded?.position?.commit}`))
      .on('caughtUp', () => void order.push('caughtUp'))
      .on('error', () => void order.push('error'));
    await until(() => order.includes('caughtUp'));
    const wanted = service.log.eventsOf('wanted-1').map(({ position }) => position);
    expect(order).toEqual([
      ...wanted.flatMap((position, index) => [`${position}`, ...(index % 2 === 1 ? [position] : [])]),
      'caughtUp',
    ]);

    order.length = 0;
    await fill('noise-1', 45, 'Noise');
    await until(() => order.length === 2);
    const noise = service.log.eventsOf('noise-1').map(({ position }) => position);
    expect(order).toEqual([noise[109], noise[129]]);
  });

  it('reports a checkpoint that has moved over events which it does not want', async () => {
    await fill('noise-1', 100, 'Noise');
    const reached: Position[] = [];
    const filter = streamNameFilter({
      prefixes: ['wanted'],
      checkpointReached: (_, position) => void reached.push(position),
    });
    const { seen } = watch(client.subscribeToAll({ filter }));
    await until(() => seen.includes('caughtUp'));
    const pages = positions().filter((_, index) => index > 0 && index % 32 === 0);
    expect(reached).toEqual([{ commit: 0n, prepare: 0n }, ...pages]);
    const resumed = watch(client.subscribeToAll({ fromPosition: reached.at(-1) ?? 'start' }));
    await until(() => resumed.seen.includes('caughtUp'));
    expect(resumed.events).toHaveLength(3);
  });
});

describe('a fault', () => {
  const stream = newStream();
  beforeEach(async () => {
    await open();
    await append(client, 'warm-up', events(1), 'any');
  });
  afterEach(shut);
  /** As long as it takes to be sure that nothing comes. */
  const silent = async (promise: Promise<unknown>): Promise<boolean> => {
    const settled = promise.then(
      () => false,
      () => false,
    );
    return Promise.race([settled, new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 200))]);
  };
  const tryAppend = async (path: Path): Promise<unknown> =>
    append(client, stream, events(1), 'any', path).then(
      () => 'success',
      (error: unknown) => error,
    );
  const paths = ['batch', 'unary'] as const;

  it.each(paths)('mutes an append by %s, before or after it is written', async (path) => {
    const pending: Promise<unknown>[] = [];
    service.faults.inject({ fault: 'mute', kinds: ['append', 'batch-append'] });
    pending.push(tryAppend(path));
    expect(await silent(pending[0] ?? Promise.resolve())).toBe(true);
    expect(countOf(stream)).toBe(0);
    service.faults.inject({ fault: 'mute-after-commit' });
    pending.push(tryAppend(path));
    expect(await silent(pending[1] ?? Promise.resolve())).toBe(true);
    expect(countOf(stream)).toBe(1);
    expect(await tryAppend(path)).toBe('success');
    service.faults.resetConnections();
    for (const error of await Promise.all(pending)) expect(error).toMatchObject({ code: status.UNAVAILABLE });
  });

  it('mutes reads and subscriptions', async () => {
    service.faults.inject({ fault: 'mute', kinds: ['read-stream', 'subscribe'], next: 2 });
    const read = toArray(client.readStream('warm-up'));
    const subscription = watch(client.subscribeToAll());
    expect(await silent(read)).toBe(true);
    expect(subscription.seen).toEqual([]);
    expect(await toArray(client.readAll())).toHaveLength(1);
    expect(await toArray(client.readStream('warm-up'))).toHaveLength(1);
    service.faults.resetConnections();
    await expect(read).rejects.toBeInstanceOf(UnavailableError);
    expect(await subscription.ended).toBeInstanceOf(UnavailableError);
  });

  it.each(paths)('answers an append by %s late, others in the meantime', async (path) => {
    service.faults.inject({ fault: 'late-reply', delayMs: 1_000 });
    const order: string[] = [];
    const late = tryAppend(path).then((result) => order.push(`late ${String(result)}`));
    await until(() => countOf(stream) === 1);
    await append(client, newStream(), events(1), 'any', path);
    order.push('other');
    await late;
    expect(order).toEqual(['other', 'late success']);
  });

  it.each(paths)('resets the connection of an append by %s, before or after it is written', async (path) => {
    service.faults.inject({ fault: 'reset' });
    expect(await tryAppend(path)).toMatchObject({ code: status.UNAVAILABLE });
    expect(countOf(stream)).toBe(0);
    await answering();
    service.faults.inject({ fault: 'reset-after-commit', kinds: ['append', 'batch-append'] });
    expect(await tryAppend(path)).toMatchObject({ code: status.UNAVAILABLE });
    expect(countOf(stream)).toBe(1);
    await answering();
    expect(await tryAppend(path)).toBe('success');
  });

  it.each(paths)('times an append by %s out, written or not', async (path) => {
    const error = path === 'batch' ? DeadlineExceededError : TimeoutError;
    service.faults.inject({ fault: 'timeout', next: 2 });
    expect(await tryAppend(path)).toBeInstanceOf(error);
    expect(await tryAppend(path)).toBeInstanceOf(error);
    expect(countOf(stream)).toBe(0);
    const written = events(2);
    service.faults.inject({ fault: 'timeout-after-commit' });
    await expect(append(client, stream, written, 'no_stream', path)).rejects.toBeInstanceOf(error);
    expect(countOf(stream)).toBe(2);
    await append(client, stream, written, 'no_stream', path);
    expect(countOf(stream)).toBe(2);
  });

  it.each(paths)('makes the server unavailable or not ready for an append by %s', async (path) => {
    service.faults.inject({ fault: 'unavailable', next: 2 });
    expect(await tryAppend(path)).toBeInstanceOf(UnavailableError);
    expect(await tryAppend(path)).toMatchObject({ code: status.UNAVAILABLE });
    await append(client, newStream(), events(1), 'any', path);
    service.faults.inject({ fault: 'not-ready' });
    expect(await tryAppend(path)).toBeInstanceOf(path === 'batch' ? UnknownError : UnavailableError);
    expect(countOf(stream)).toBe(0);
  });

  it.each(paths)('sends an append by %s to the leader', async (path) => {
    const leader = await startEventStoreService({ log: service.log });
    service.faults.inject({
      fault: 'not-leader',
      host: '127.0.0.1',
      port: leader.port,
      kinds: ['append', 'batch-append'],
    });
    const error = await tryAppend(path);
    expect(error).toBeInstanceOf(NotLeaderError);
    expect(error).toMatchObject({ leader: { address: '127.0.0.1', port: leader.port } });
    expect(await tryAppend(path)).toBe('success');
    expect(leader.calls.append + leader.calls['batch-append']).toBe(1);
    await leader.close();
  });

  it.each([
    ['end', 'end'],
    ['cancelled', CancelledError],
    ['too-slow', TimeoutError],
    ['unavailable', UnavailableError],
  ] as const)('drops subscriptions: %s', async (how, expected) => {
    const all = watch(client.subscribeToAll());
    const one = watch(client.subscribeToStream('warm-up', { fromRevision: 'end' }));
    await until(() => all.events.length === 1 && one.seen.includes('caughtUp'));
    expect(service.faults.dropSubscriptions(how)).toBe(2);
    for (const ended of [await all.ended, await one.ended]) {
      if (typeof expected === 'string') expect(ended).toBe(expected);
      else expect(ended).toBeInstanceOf(expected);
    }
    expect(service.subscriptions).toBe(0);
    expect(await toArray(client.readAll())).toHaveLength(1);
  });

  it.each(paths)('makes appends by %s too large from now on', async (path) => {
    service.faults.refuseAbove(100);
    expect(await tryAppend(path)).toBe('success');
    const large = append(client, stream, [event({ data: { text: 'x'.repeat(100) } })], 'any', path);
    await expect(large).rejects.toMatchObject({ type: 'maximum-append-size-exceeded', maxAppendSize: 100 });
    await expect(large).rejects.toBeInstanceOf(MaxAppendSizeExceededError);
  });

  it('gives deletions any status', async () => {
    service.faults.inject({ fault: 'status', code: status.INTERNAL, kinds: ['delete'] });
    await expect(client.deleteStream('warm-up')).rejects.toMatchObject({ code: status.INTERNAL });
    expect(await toArray(client.readStream('warm-up'))).toHaveLength(1);
    await client.deleteStream('warm-up');
  });

  it('takes effect on the kinds of calls it names, in order, until it is cleared', async () => {
    service.faults.inject({ fault: 'unavailable', kinds: ['read-all'] });
    service.faults.inject({ fault: 'timeout', next: null });
    expect(await tryAppend('batch')).toBeInstanceOf(DeadlineExceededError);
    await expect(toArray(client.readAll())).rejects.toBeInstanceOf(UnavailableError);
    await expect(toArray(client.readAll())).rejects.toBeInstanceOf(TimeoutError);
    service.faults.clear();
    expect(await tryAppend('batch')).toBe('success');
    expect(service.calls).toMatchObject({ 'read-all': 2, 'batch-append': 3 });
  });
});

describe('a node', () => {
  afterEach(shut);

  it('announces what it can do', async () => {
    for (const features of [[], 'unimplemented'] as const) {
      await open({ features });
      await append(client, newStream(), events(1), 'any');
      expect(service.calls).toMatchObject({ features: 1, append: 1, 'batch-append': 0 });
      if (features !== 'unimplemented') await shut();
    }
  });

  it('that fails to say what it can do is not asked again by the same client', async () => {
    await open();
    service.faults.inject({ fault: 'status', code: status.INTERNAL, kinds: ['features'] });
    await expect(append(client, newStream(), events(1), 'any')).rejects.toMatchObject({
      code: status.INTERNAL,
    });
    await expect(append(client, newStream(), events(1), 'any')).rejects.toMatchObject({
      code: status.INTERNAL,
    });
    expect(service.calls.features).toBe(1);
    const other = EventStoreDBClient.connectionString(service.url);
    await append(other, newStream(), events(1), 'any');
    await disconnect(other);
  });

  it('is found by gossip', async () => {
    await open();
    const leader = await startEventStoreService({ log: service.log });
    service.faults.gossip([
      { host: '127.0.0.1', port: service.port, state: 'follower' },
      { host: '127.0.0.1', port: leader.port, state: 'leader' },
    ]);
    const discovering = EventStoreDBClient.connectionString(
      `esdb+discover://127.0.0.1:${service.port}?tls=false`,
    );
    await append(discovering, 'found', events(1), 'any');
    expect(service.calls).toMatchObject({ gossip: 1, 'batch-append': 0 });
    expect(leader.calls['batch-append']).toBe(1);
    await disconnect(discovering);
    await leader.close();
  });

  it('shares its log and what it remembers with the other nodes', async () => {
    await open();
    const other = await startEventStoreService({ log: service.log });
    const otherClient = EventStoreDBClient.connectionString(other.url);
    const { events: received } = watch(otherClient.subscribeToAll());
    const written = events(2);
    await append(client, 'shared', written, 'any');
    await append(otherClient, 'shared', written, 'any');
    await until(() => received.length === 2);
    expect(countOf('shared')).toBe(2);
    await disconnect(otherClient);
    await other.close();
  });

  it('comes back on its port with its log, or with an older or another one', async () => {
    await open();
    await append(client, 'kept', events(3), 'no_stream');
    const older = service.log.copy();
    await append(client, 'kept', events(2), 2n);
    const head = service.log.end;
    const { ended } = watch(client.subscribeToAll());
    await restart();
    expect(await ended).toBeInstanceOf(UnavailableError);
    await answering();
    expect(await toArray(client.readStream('kept'))).toHaveLength(5);
    expect(() => service.log.truncate(1)).toThrow('being served');
    await restart(older);
    await answering();
    expect(await toArray(client.readStream('kept'))).toHaveLength(3);
    expect(service.log.end).toBeLessThan(head);
    await restart(createEventLog());
    await answering();
    await expect(toArray(client.readStream('kept'))).rejects.toBeInstanceOf(StreamNotFoundError);
  });
});

describe('the program', () => {
  let program: ChildProcess | undefined;
  afterEach(() => void program?.kill('SIGKILL'));

  it('serves in a process of its own and takes commands', async () => {
    const main = fileURLToPath(new URL('../support/eventstoredb/main.js', import.meta.url));
    program = spawn(process.execPath, [main, '--attached'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const { stdin, stdout } = program;
    if (stdin === null || stdout === null) throw new Error('The program has no pipes.');
    const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    const line = async (): Promise<string> => String((await lines.next()).value);
    const command = async (sent: object): Promise<unknown> => {
      stdin.write(`${JSON.stringify(sent)}\n`);
      return JSON.parse(await line());
    };
    const [, url] = /^serving at (esdb:.*)$/u.exec(await line()) ?? [];
    client = EventStoreDBClient.connectionString(url ?? '');
    await append(client, 'a-1', events(4), 'no_stream');
    await command({ command: 'inject', injection: { fault: 'timeout', kinds: ['batch-append'] } });
    await expect(append(client, 'a-1', events(1), 3n)).rejects.toBeInstanceOf(DeadlineExceededError);
    expect(await command({ command: 'state' })).toMatchObject({ calls: { 'batch-append': 2 }, records: 4 });
    expect(await command({ command: 'inject', injection: { fault: 'none' } })).toHaveProperty('error');
    expect(await command({ command: 'restart', keep: 2 })).toMatchObject({ connections: 0, records: 2 });
    await answering();
    expect(await toArray(client.readStream('a-1'))).toHaveLength(2);
    await disconnect(client);
    stdin.end();
    const [code] = (await once(program, 'exit')) as [number];
    expect(code).toBe(0);
  });
});
