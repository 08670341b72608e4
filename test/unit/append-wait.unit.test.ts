import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import { encodeAppend } from '../../shared/event-store/append-request.ts';
import { createAppender } from '../../shared/event-store/eventstoredb/appender.ts';
import { callLimits } from '../../shared/event-store/eventstoredb/call-limits.ts';
import type { Connection } from '../../shared/event-store/eventstoredb/connection.ts';
import { createLogEndReader } from '../../shared/event-store/eventstoredb/log-end.ts';
import type { LogReader } from '../../shared/event-store/eventstoredb/log-reader.ts';
import { sampleEvents } from '../contract/sample-events.ts';

/** Every request is answered within this time (`shared/http/deadline.ts`). */
const REQUEST_MS_MAX = 2_800;
/** Calls in flight over one connection. */
const CALLS_MAX = 48;

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const setUp = () => {
  /** Rejects the append in progress, by stream. */
  const held = new Map<string, (error: Error) => void>();
  const sent: string[] = [];
  const client = {
    appendToStream: (stream: string) =>
      new Promise((_, reject) => {
        sent.push(stream);
        held.set(stream, reject);
      }),
  };
  const connection = {
    limits: callLimits,
    leader: async () => client,
    call: (_client: unknown, _withinMs: number, work: () => Promise<unknown>) => work(),
  } as unknown as Connection;
  const appender = createAppender(
    connection,
    {} as LogReader,
    createLogEndReader(connection),
    async () => undefined,
  );
  const append = (stream: string): Promise<unknown> =>
    appender.append(encodeAppend(stream, sampleEvents(1), 'no-stream')).catch((error: unknown) => error);
  const refuse = (stream: string): void => {
    const permissionDenied = 7;
    held.get(stream)?.(Object.assign(new Error('refused'), { code: permissionDenied }));
  };
  return { append, refuse, sent };
};

describe('an append that waits for its stream and then for a free call', () => {
  it('times out before its request does, and is never sent', async () => {
    const { append, refuse, sent } = setUp();
    void append('busy');
    let answer: unknown;
    void append('busy').then((outcome) => (answer = outcome));
    await jest.advanceTimersByTimeAsync(1_500);
    for (let n = 0; n < CALLS_MAX; n += 1) void append(`other-${n}`);
    await jest.advanceTimersByTimeAsync(0);
    refuse('busy');
    await jest.advanceTimersByTimeAsync(0);
    expect([sent.length, answer]).toEqual([CALLS_MAX + 1, undefined]);

    await jest.advanceTimersByTimeAsync(REQUEST_MS_MAX - 1_500 - 1);
    expect(answer).toBeInstanceOf(EventStoreUnavailableError);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(sent.filter((stream) => stream === 'busy')).toHaveLength(1);
  });

  it('is sent if a call becomes free in time', async () => {
    const { append, refuse, sent } = setUp();
    void append('busy');
    void append('busy');
    for (let n = 0; n < CALLS_MAX; n += 1) void append(`other-${n}`);
    await jest.advanceTimersByTimeAsync(1_000);
    refuse('busy');
    await jest.advanceTimersByTimeAsync(500);
    refuse('other-0');
    await jest.advanceTimersByTimeAsync(0);
    expect(sent.filter((stream) => stream === 'busy')).toHaveLength(2);
  });
});
