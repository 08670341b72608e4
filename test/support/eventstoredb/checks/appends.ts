import {
  DeadlineExceededError,
  StreamDeletedError,
  WrongExpectedVersionError,
  type AppendExpectedRevision,
} from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { append, event, events, newStream, toArray, type Path } from '../client-kit.ts';
import { createNode } from './node.ts';

export const checkAppends = (): void => {
  const node = createNode();

  describe.each<Path>(['batch', 'unary'])('an append by %s', (path) => {
    beforeAll(() => node.open());
    afterAll(node.shut);
    const write = (
      stream: string,
      written: Parameters<typeof append>[2],
      expected: AppendExpectedRevision,
    ): ReturnType<typeof append> => append(node.client, stream, written, expected, path);

    it('uses the intended kind of call', async () => {
      const before = { ...node.service.calls };
      await write(newStream(), events(1), 'any');
      expect(node.service.calls['batch-append'] - before['batch-append']).toBe(path === 'batch' ? 1 : 0);
      expect(node.service.calls.append - before.append).toBe(path === 'unary' ? 1 : 0);
    });

    /**
     * Sequences from the server's own tests: `0em1` is event 0 with the expected revision -1, `S_..._E` one append of
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
      {
        name: 'S_0em1_1em1_E_S_0em1_E',
        count: 2,
        at: 'once',
        then: [[0, 'no_stream']],
        outcome: 'idempotent',
      },
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
      expect(node.countOf(stream)).toBe(outcome === 'written again' ? count + 1 : count);
    });

    it('sequence S_0em1_1em1_E_S_0em1_1em1_2em1_E is refused', async () => {
      const stream = newStream();
      const written = events(2);
      await write(stream, written, 'no_stream');
      const longer = write(stream, [...written, event()], 'no_stream');
      await expect(longer).rejects.toMatchObject({ type: 'wrong-expected-version', actualVersion: 1n });
      expect(node.countOf(stream)).toBe(2);
    });

    it('answers a repeat with the revision and position of the repeated append, not of the stream', async () => {
      const stream = newStream();
      const written = events(3);
      const first = await write(stream, written.slice(0, 2), 'no_stream');
      expect(first).toMatchObject({ nextExpectedRevision: 1n });
      await write(stream, written.slice(2), 1n);
      expect(await write(stream, written.slice(0, 2), 'no_stream')).toEqual(first);
      expect(await write(stream, written.slice(0, 2), 'any')).toEqual(first);
    });

    it('with any revision, compares only the first id, unless that one is known', async () => {
      const stream = newStream();
      const written = events(2);
      await write(stream, written, 'any');
      await expect(write(stream, [...written, event()], 'any')).rejects.toMatchObject({ actualVersion: 1n });
      await write(stream, [event(), ...written], 'any');
      expect(node.countOf(stream)).toBe(5);
      const other = newStream();
      await write(other, written, 'any');
      expect([node.countOf(stream), node.countOf(other)]).toEqual([5, 2]);
    });

    it('with any revision, finds an id that was written twice at its first place', async () => {
      const stream = newStream();
      const written = events(1);
      const first = await write(stream, written, 'any');
      expect(await write(stream, written, 0n)).toMatchObject({ nextExpectedRevision: 1n });
      expect(await write(stream, written, 'any')).toEqual(first);
      const other = newStream();
      await write(other, written, 'any');
      await write(other, written, 'any');
      expect([node.countOf(stream), node.countOf(other)]).toEqual([2, 2]);
    });

    it('reports the expected and the current revision', async () => {
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
      await node.client.deleteStream(stream, { expectedRevision: 1n });
      await expect(write(stream, events(1), 'stream_exists')).rejects.toBeInstanceOf(StreamDeletedError);
      expect(await write(stream, events(1), 'no_stream')).toMatchObject({ nextExpectedRevision: 2n });
      expect((await toArray(node.client.readStream(stream))).map((read) => read.event?.revision)).toEqual([
        2n,
      ]);
      await node.client.deleteStream(stream);
      expect(await write(stream, events(1), 2n)).toMatchObject({ nextExpectedRevision: 3n });
      expect((await node.client.getStreamMetadata(stream)).metadata).toEqual({ truncateBefore: 3 });
      expect(await write(stream, written, 'no_stream')).toMatchObject({
        nextExpectedRevision: 1n,
        position: undefined,
      });
    });

    it('is refused permanently after a tombstone', async () => {
      const stream = newStream();
      await write(stream, events(1), 'no_stream');
      await node.client.tombstoneStream(stream);
      for (const expected of ['any', 'no_stream', 'stream_exists', 0n, 1n] as const) {
        await expect(write(stream, events(1), expected)).rejects.toMatchObject({
          type: 'stream-deleted',
          streamName: stream,
        });
      }
    });

    it('is refused completely if it is too large', async () => {
      const stream = newStream();
      const large = () => event({ data: { text: 'x'.repeat(400_000) } });
      await expect(write(stream, [large(), large(), large()], 'any')).rejects.toMatchObject({
        type: 'maximum-append-size-exceeded',
        maxAppendSize: 1_048_576,
      });
      expect(node.countOf(stream)).toBe(0);
      await write(stream, [large(), large()], 'no_stream');
    });

    it('forgets ids for any revision after a restart, but never those at exact revisions', async () => {
      const stream = newStream();
      const written = events(2);
      await write(stream, written, 'no_stream');
      await node.restart();
      await node.answering();
      expect(await write(stream, written, 'no_stream')).toMatchObject({ nextExpectedRevision: 1n });
      expect(node.countOf(stream)).toBe(2);
      await write(stream, written, 'any');
      expect(node.countOf(stream)).toBe(4);
    });
  });

  describe('an append in several chunks', () => {
    beforeAll(() => node.open());
    afterAll(node.shut);

    it('is one append', async () => {
      const stream = newStream();
      const result = await node.client.appendToStream(stream, events(20), { batchAppendSize: 200 });
      expect(result.nextExpectedRevision).toBe(19n);
      expect(node.service.calls['batch-append']).toBe(1);
      await expect(
        node.client.appendToStream(stream, events(20), { batchAppendSize: 200, expectedRevision: 3n }),
      ).rejects.toBeInstanceOf(WrongExpectedVersionError);
      expect(node.countOf(stream)).toBe(20);
    });

    it('times out immediately if the clocks differ by more than its deadline', async () => {
      const late = node.client.appendToStream(newStream(), events(1), { deadline: -1 });
      await expect(late).rejects.toBeInstanceOf(DeadlineExceededError);
    });
  });
};
