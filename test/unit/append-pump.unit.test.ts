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

/** Records the batches that it receives. */
const fakeConnection = (
  answer: (batch: readonly AppendRequest[]) => Promise<void> = async () => undefined,
) => {
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

describe('the append pump', () => {
  it('sends all waiting appends in one batch, but at most one per stream, in order', async () => {
    const { connection, batches } = fakeConnection();
    const pump = createAppendPump([connection], () => undefined);
    await Promise.all(['a', 'b', 'a', 'c', 'a', 'b'].map((stream) => pump.append(request(stream))));
    expect(batches).toEqual([['a', 'b', 'c'], ['a', 'b'], ['a']]);
  });

  it('never has two appends to one stream in flight, even over several connections', async () => {
    // With fake timers no append times out on a busy machine.
    jest.useFakeTimers();
    const inFlight = new Set<string>();
    const answer = async (batch: readonly AppendRequest[]): Promise<void> => {
      for (const { stream } of batch) {
        expect(inFlight.has(stream)).toBe(false);
        inFlight.add(stream);
      }
      await later(Math.random() * 3);
      for (const { stream } of batch) inFlight.delete(stream);
    };
    const pump = createAppendPump(
      [fakeConnection(answer).connection, fakeConnection(answer).connection],
      () => undefined,
    );
    const appended = Promise.all(Array.from({ length: 600 }, (_, n) => pump.append(request(`s${n % 37}`))));
    while (pump.pending > 0) await jest.advanceTimersByTimeAsync(1);
    expect(await appended).toHaveLength(600);
  });

  it('limits a batch by count and by bytes', async () => {
    const { connection, batches } = fakeConnection();
    const pump = createAppendPump([connection], () => undefined);
    const large = 3 * 1024 * 1024;
    const requests = [
      ...Array.from({ length: 600 }, (_, n) => request(`s${n}`)),
      ...Array.from({ length: 4 }, (_, n) => request(`large${n}`, large)),
    ];
    await Promise.all(requests.map((append) => pump.append(append)));
    expect(batches.map((batch) => batch.length)).toEqual([512, 90, 2]);
  });

  it('refuses an append while 10,000 wait, and accepts more when they have been answered', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const pump = createAppendPump([fakeConnection(() => held).connection], () => undefined);
    const waiting = Array.from({ length: 10_000 }, (_, n) => pump.append(request(`s${n}`)));
    await expect(pump.append(request('one-too-many'))).rejects.toBeInstanceOf(EventStoreUnavailableError);
    release();
    await Promise.all(waiting);
    expect(await pump.append(request('again'))).toMatchObject({ repeated: false });
  });

  it('on a timeout, distinguishes an append that was sent from one that was not', async () => {
    jest.useFakeTimers();
    const pump = createAppendPump(
      [fakeConnection(() => new Promise(() => undefined)).connection],
      () => undefined,
    );
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

  it('retries each append of a refused batch on its own', async () => {
    const { connection, batches } = fakeConnection(async (batch) => {
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

  it('refuses all appends immediately if it has no connection', async () => {
    const { connection, disconnect } = fakeConnection();
    disconnect();
    const pump = createAppendPump([connection], () => undefined);
    const outcomes = await Promise.allSettled(['a', 'a', 'b'].map((stream) => pump.append(request(stream))));
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(EventStoreUnavailableError) });
    }
    expect(pump.pending).toBe(0);
  });
});
