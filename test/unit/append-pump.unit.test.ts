import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { AppendRequest } from '../../shared/event-store/append-request.ts';
import { printPosition } from '../../shared/event-store/dense-position.ts';
import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
} from '../../shared/event-store/event-store.ts';
import { BatchRefusedError } from '../../shared/event-store/postgres/append-failure.ts';
import type { AppendConnection } from '../../shared/event-store/postgres/append-connection.ts';
import { createAppendPump } from '../../shared/event-store/postgres/append-pump.ts';

const request = (stream: string, bytes = 100): AppendRequest => ({
  stream,
  expected: 'any',
  customerId: 1,
  events: [],
  bytes,
});

/** A connection that answers when told to, and remembers what it was given. */
const fakeLane = (answer: (batch: readonly AppendRequest[]) => Promise<void> = async () => undefined) => {
  const batches: string[][] = [];
  let position = 0;
  let connected = true;
  const connection: AppendConnection = {
    get connected() {
      return connected;
    },
    connect: async () => {
      throw new EventStoreUnavailableError('no way');
    },
    run: async (batch) => {
      batches.push(batch.map(({ stream }) => stream));
      await answer(batch);
      return batch.map(() => ({ revision: 0, position: printPosition((position += 1)), repeated: false }));
    },
    close: async () => undefined,
  };
  return {
    connection,
    batches,
    disconnect: () => {
      connected = false;
    },
  };
};

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

afterEach(() => {
  jest.useRealTimers();
});

describe('append pump', () => {
  it('takes everything that waits into one batch, but of each stream one at a time and in order', async () => {
    const { connection, batches } = fakeLane();
    const pump = createAppendPump([connection], () => undefined);
    await Promise.all(['a', 'b', 'a', 'c', 'a', 'b'].map((stream) => pump.append(request(stream))));
    expect(batches).toEqual([['a', 'b', 'c'], ['a', 'b'], ['a']]);
  });

  it('never has two appends of one stream under way, whatever the connections', async () => {
    // Nothing waits too long, however busy the machine is.
    jest.useFakeTimers();
    const underWay = new Set<string>();
    const answer = async (batch: readonly AppendRequest[]): Promise<void> => {
      for (const { stream } of batch) {
        expect(underWay.has(stream)).toBe(false);
        underWay.add(stream);
      }
      await later(Math.random() * 3);
      for (const { stream } of batch) underWay.delete(stream);
    };
    const pump = createAppendPump(
      [fakeLane(answer).connection, fakeLane(answer).connection],
      () => undefined,
    );
    const appended = Promise.all(Array.from({ length: 600 }, (_, n) => pump.append(request(`s${n % 37}`))));
    while (pump.pending > 0) await jest.advanceTimersByTimeAsync(1);
    expect(await appended).toHaveLength(600);
  });

  it('bounds a batch by count and by bytes; a large append goes alone', async () => {
    const { connection, batches } = fakeLane();
    const pump = createAppendPump([connection], () => undefined);
    const large = 3 * 1024 * 1024;
    const requests = [
      ...Array.from({ length: 600 }, (_, n) => request(`s${n}`)),
      ...Array.from({ length: 4 }, (_, n) => request(`large${n}`, large)),
    ];
    await Promise.all(requests.map((append) => pump.append(append)));
    expect(batches.map((batch) => batch.length)).toEqual([512, 90, 2]);
  });

  it('refuses when 10,000 wait, and takes more as soon as they do not', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const pump = createAppendPump([fakeLane(() => held).connection], () => undefined);
    const waiting = Array.from({ length: 10_000 }, (_, n) => pump.append(request(`s${n}`)));
    await expect(pump.append(request('one-too-many'))).rejects.toBeInstanceOf(EventStoreUnavailableError);
    release();
    await Promise.all(waiting);
    expect(await pump.append(request('again'))).toMatchObject({ repeated: false });
  });

  it('tells apart what was sent and what was not when patience ends', async () => {
    jest.useFakeTimers();
    const pump = createAppendPump([fakeLane(() => new Promise(() => undefined)).connection], () => undefined);
    const outcomes: Record<string, unknown> = {};
    const append = (stream: string): void =>
      void pump.append(request(stream)).catch((error: unknown) => (outcomes[stream] = error));
    append('sent');
    await jest.advanceTimersByTimeAsync(10);
    append('unsent');
    await jest.advanceTimersByTimeAsync(2_200);
    expect(outcomes).toEqual({ unsent: expect.any(EventStoreUnavailableError) });
    await jest.advanceTimersByTimeAsync(800);
    expect(outcomes).toMatchObject({ sent: expect.any(AppendOutcomeUnknownError) });
  });

  it('tries the members of a refused batch alone', async () => {
    const { connection, batches } = fakeLane(async (batch) => {
      if (batch.some(({ stream }) => stream === 'bad')) throw new BatchRefusedError('refused');
    });
    const announced: string[] = [];
    const pump = createAppendPump([connection], ({ position }) => announced.push(position));
    const outcomes = await Promise.allSettled(
      ['a', 'bad', 'b'].map((stream) => pump.append(request(stream))),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(batches).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b']]);
    await later(0);
    expect(announced).toEqual([printPosition(2)]);
  });

  it('refuses everyone at once when there is no connection', async () => {
    const { connection, disconnect } = fakeLane();
    disconnect();
    const pump = createAppendPump([connection], () => undefined);
    const outcomes = await Promise.allSettled(['a', 'a', 'b'].map((stream) => pump.append(request(stream))));
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(EventStoreUnavailableError) });
    }
    expect(pump.pending).toBe(0);
  });
});
