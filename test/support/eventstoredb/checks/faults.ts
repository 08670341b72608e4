import {
  CancelledError,
  DeadlineExceededError,
  MaxAppendSizeExceededError,
  NotLeaderError,
  TimeoutError,
  UnavailableError,
  UnknownError,
} from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { append, event, events, newStream, toArray, until, watch, type Path } from '../client-kit.ts';
import { startEventStoreService } from '../event-store-service.ts';
import { createNode } from './node.ts';

export const checkFaults = (): void => {
  const node = createNode();

  describe('a fault', () => {
    const stream = newStream();
    beforeEach(async () => {
      await node.open();
      await append(node.client, 'warm-up', events(1), 'any');
    });
    afterEach(node.shut);
    /** Long enough to be sure that no answer comes. */
    const silent = async (promise: Promise<unknown>): Promise<boolean> => {
      const settled = promise.then(
        () => false,
        () => false,
      );
      return Promise.race([settled, new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 200))]);
    };
    const tryAppend = async (path: Path): Promise<unknown> =>
      append(node.client, stream, events(1), 'any', path).then(
        () => 'success',
        (error: unknown) => error,
      );
    const paths = ['batch', 'unary'] as const;

    it.each(paths)('leaves an append by %s unanswered, before or after it is written', async (path) => {
      const pending: Promise<unknown>[] = [];
      node.service.faults.inject({ fault: 'mute', kinds: ['append', 'batch-append'] });
      pending.push(tryAppend(path));
      expect(await silent(pending[0] ?? Promise.resolve())).toBe(true);
      expect(node.countOf(stream)).toBe(0);
      node.service.faults.inject({ fault: 'mute-after-commit' });
      pending.push(tryAppend(path));
      expect(await silent(pending[1] ?? Promise.resolve())).toBe(true);
      expect(node.countOf(stream)).toBe(1);
      expect(await tryAppend(path)).toBe('success');
      node.service.faults.resetConnections();
      for (const error of await Promise.all(pending))
        expect(error).toMatchObject({ code: status.UNAVAILABLE });
    });

    it('leaves reads and subscriptions unanswered', async () => {
      node.service.faults.inject({ fault: 'mute', kinds: ['read-stream', 'subscribe'], next: 2 });
      const read = toArray(node.client.readStream('warm-up'));
      const subscription = watch(node.client.subscribeToAll());
      expect(await silent(read)).toBe(true);
      expect(subscription.seen).toEqual([]);
      expect(await toArray(node.client.readAll())).toHaveLength(1);
      expect(await toArray(node.client.readStream('warm-up'))).toHaveLength(1);
      node.service.faults.resetConnections();
      await expect(read).rejects.toBeInstanceOf(UnavailableError);
      expect(await subscription.ended).toBeInstanceOf(UnavailableError);
    });

    it.each(paths)('delays the answer to an append by %s, but not other answers', async (path) => {
      node.service.faults.inject({ fault: 'late-reply', delayMs: 1_000 });
      const order: string[] = [];
      const late = tryAppend(path).then((result) => order.push(`late ${String(result)}`));
      await until(() => node.countOf(stream) === 1);
      await append(node.client, newStream(), events(1), 'any', path);
      order.push('other');
      await late;
      expect(order).toEqual(['other', 'late success']);
    });

    it.each(paths)(
      'resets the connection of an append by %s, before or after it is written',
      async (path) => {
        node.service.faults.inject({ fault: 'reset' });
        expect(await tryAppend(path)).toMatchObject({ code: status.UNAVAILABLE });
        expect(node.countOf(stream)).toBe(0);
        await node.answering();
        node.service.faults.inject({ fault: 'reset-after-commit', kinds: ['append', 'batch-append'] });
        expect(await tryAppend(path)).toMatchObject({ code: status.UNAVAILABLE });
        expect(node.countOf(stream)).toBe(1);
        await node.answering();
        expect(await tryAppend(path)).toBe('success');
      },
    );

    it.each(paths)('answers an append by %s with a timeout, before or after it is written', async (path) => {
      const error = path === 'batch' ? DeadlineExceededError : TimeoutError;
      node.service.faults.inject({ fault: 'timeout', next: 2 });
      expect(await tryAppend(path)).toBeInstanceOf(error);
      expect(await tryAppend(path)).toBeInstanceOf(error);
      expect(node.countOf(stream)).toBe(0);
      const written = events(2);
      node.service.faults.inject({ fault: 'timeout-after-commit' });
      await expect(append(node.client, stream, written, 'no_stream', path)).rejects.toBeInstanceOf(error);
      expect(node.countOf(stream)).toBe(2);
      await append(node.client, stream, written, 'no_stream', path);
      expect(node.countOf(stream)).toBe(2);
    });

    it.each(paths)('makes the server unavailable or not ready for an append by %s', async (path) => {
      node.service.faults.inject({ fault: 'unavailable', next: 2 });
      expect(await tryAppend(path)).toBeInstanceOf(UnavailableError);
      expect(await tryAppend(path)).toMatchObject({ code: status.UNAVAILABLE });
      await append(node.client, newStream(), events(1), 'any', path);
      node.service.faults.inject({ fault: 'not-ready' });
      expect(await tryAppend(path)).toBeInstanceOf(path === 'batch' ? UnknownError : UnavailableError);
      expect(node.countOf(stream)).toBe(0);
    });

    it.each(paths)('sends an append by %s to the leader', async (path) => {
      const leader = await startEventStoreService({ log: node.service.log });
      node.service.faults.inject({
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
      const all = watch(node.client.subscribeToAll());
      const one = watch(node.client.subscribeToStream('warm-up', { fromRevision: 'end' }));
      await until(() => all.events.length === 1 && one.seen.includes('caughtUp'));
      expect(node.service.faults.dropSubscriptions(how)).toBe(2);
      for (const ended of [await all.ended, await one.ended]) {
        if (typeof expected === 'string') expect(ended).toBe(expected);
        else expect(ended).toBeInstanceOf(expected);
      }
      expect(node.service.subscriptions).toBe(0);
      expect(await toArray(node.client.readAll())).toHaveLength(1);
    });

    it.each(paths)('refuses appends by %s above a size', async (path) => {
      node.service.faults.refuseAbove(100);
      expect(await tryAppend(path)).toBe('success');
      const large = append(node.client, stream, [event({ data: { text: 'x'.repeat(100) } })], 'any', path);
      await expect(large).rejects.toMatchObject({ type: 'maximum-append-size-exceeded', maxAppendSize: 100 });
      await expect(large).rejects.toBeInstanceOf(MaxAppendSizeExceededError);
    });

    it('resets every connection with its open calls', async () => {
      const { seen, ended } = watch(node.client.subscribeToAll());
      await until(() => seen.includes('caughtUp'));
      expect(node.service.connections).toBeGreaterThan(0);
      expect(node.service.faults.resetConnections()).toBe(node.service.connections);
      expect(await ended).toBeInstanceOf(UnavailableError);
      await until(() => node.service.subscriptions === 0);
      await node.answering();
      expect(await tryAppend('batch')).toBe('success');
    });

    it('that leaves a unary append unanswered exceeds the deadline of the client', async () => {
      node.service.faults.inject({ fault: 'mute-after-commit' });
      const muted = node.client.appendToStream(stream, events(1), {
        deadline: 300,
        credentials: { username: 'a', password: 'b' },
      });
      await expect(muted).rejects.toBeInstanceOf(DeadlineExceededError);
      expect(node.countOf(stream)).toBe(1);
    });

    it('answers deletions with any status', async () => {
      node.service.faults.inject({ fault: 'status', code: status.INTERNAL, kinds: ['delete'] });
      await expect(node.client.deleteStream('warm-up')).rejects.toMatchObject({ code: status.INTERNAL });
      expect(await toArray(node.client.readStream('warm-up'))).toHaveLength(1);
      await node.client.deleteStream('warm-up');
    });

    it('takes effect on the named kinds of calls, in order, until it is cleared', async () => {
      node.service.faults.inject({ fault: 'unavailable', kinds: ['read-all'] });
      node.service.faults.inject({ fault: 'timeout', next: null });
      expect(await tryAppend('batch')).toBeInstanceOf(DeadlineExceededError);
      await expect(toArray(node.client.readAll())).rejects.toBeInstanceOf(UnavailableError);
      await expect(toArray(node.client.readAll())).rejects.toBeInstanceOf(TimeoutError);
      node.service.faults.clear();
      expect(await tryAppend('batch')).toBe('success');
      expect(node.service.calls).toMatchObject({ 'read-all': 2, 'batch-append': 3 });
    });
  });
};
