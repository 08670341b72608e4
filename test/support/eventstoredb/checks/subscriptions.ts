import {
  StreamDeletedError,
  eventTypeFilter,
  excludeSystemEvents,
  streamNameFilter,
  type Filter,
  type Position,
} from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { append, event, positionOf, until, watch } from '../client-kit.ts';
import { createNode } from './node.ts';

export const checkSubscriptions = (): void => {
  const node = createNode();

  describe('a subscription', () => {
    beforeEach(() => node.open());
    afterEach(node.shut);
    const fill = async (stream: string, count: number, type?: string): Promise<void> => {
      const filling = Array.from({ length: count }, () => event(type === undefined ? {} : { type }));
      await append(node.client, stream, filling, 'any');
    };
    const positions = (): Position[] =>
      node.service.log.records.map(({ position }) => ({ commit: position, prepare: position }));

    it('to all sends a confirmation, every event in order and caughtUp, and then continues', async () => {
      await fill('a-1', 3);
      await fill('b-1', 2);
      const subscription = node.client.subscribeToAll();
      const { seen, events: received, ended } = watch(subscription);
      await until(() => seen.includes('caughtUp'));
      expect(seen[0]).toBe('confirmation');
      await fill('a-1', 100);
      await fill('c-1', 1);
      await until(() => received.length === 106);
      expect(received.map(positionOf)).toEqual(positions());
      expect(seen.filter((one) => one === 'caughtUp')).toHaveLength(1);
      expect(node.service.subscriptions).toBe(1);
      await subscription.unsubscribe();
      expect(await ended).toBe('end');
      await until(() => node.service.subscriptions === 0);
    });

    it('to all starts after its position: a record, the end, or beyond the end of a truncated log', async () => {
      await fill('a-1', 5);
      const [, second, ...rest] = positions();
      const from = watch(node.client.subscribeToAll({ fromPosition: second ?? 'start' }));
      const atEnd = watch(node.client.subscribeToAll({ fromPosition: 'end' }));
      const far = { commit: node.service.log.end + 500n, prepare: node.service.log.end + 500n };
      const beyond = watch(node.client.subscribeToAll({ fromPosition: far }));
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
      const { ended } = watch(node.client.subscribeToAll({ fromPosition: { commit: at, prepare: at } }));
      expect(await ended).toMatchObject({ type: 'unknown', code: status.INVALID_ARGUMENT });
    });

    it('to a stream starts after its revision, also before the stream exists', async () => {
      await fill('a-1', 3);
      const all = watch(node.client.subscribeToStream('a-1'));
      const rest = watch(node.client.subscribeToStream('a-1', { fromRevision: 1n }));
      const live = watch(node.client.subscribeToStream('a-1', { fromRevision: 'end' }));
      const early = watch(node.client.subscribeToStream('later-1'));
      await until(() => [all, rest, live, early].every(({ seen }) => seen.includes('caughtUp')));
      await fill('a-1', 1);
      await fill('later-1', 1);
      await until(() => live.events.length === 1 && early.events.length === 1 && all.events.length === 4);
      expect(rest.events.map((one) => one.event?.revision)).toEqual([2n, 3n]);
      await node.client.tombstoneStream('a-1');
      expect(await all.ended).toBeInstanceOf(StreamDeletedError);
    });

    it('sends a slow consumer everything in order', async () => {
      for (let n = 0; n < 10; n += 1) await fill('a-1', 300);
      const received: (bigint | undefined)[] = [];
      for await (const { event: recorded } of node.client.subscribeToAll()) {
        received.push(recorded?.revision);
        if (received.length % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
        if (received.length === 3_000) break;
      }
      expect(received).toEqual([...Array(3_000).keys()].map(BigInt));
    });

    const filtered = async (filter: Filter): Promise<string[]> => {
      const { seen, events: received } = watch(node.client.subscribeToAll({ filter }));
      await until(() => seen.includes('caughtUp'));
      return received.map((one) => `${one.event?.streamId} ${one.event?.type}`);
    };

    it('sends the events that its filter selects', async () => {
      await fill('a-1', 1, 'One');
      await fill('b-1', 1, 'Two');
      await fill('ab-1', 1, 'Three');
      await node.client.setStreamMetadata('a-1', { maxCount: 9 });
      expect(await filtered(streamNameFilter({ prefixes: ['a-', 'b'] }))).toEqual(['a-1 One', 'b-1 Two']);
      expect(await filtered(streamNameFilter({ regex: '^a.*' }))).toEqual(['a-1 One', 'ab-1 Three']);
      expect(await filtered(eventTypeFilter({ prefixes: ['T'] }))).toEqual(['b-1 Two', 'ab-1 Three']);
      expect(await filtered(eventTypeFilter({ regex: 'e$' }))).toEqual(['a-1 One', 'ab-1 Three']);
      expect(await filtered(excludeSystemEvents())).toHaveLength(3);
      expect(await filtered(streamNameFilter({ prefixes: ['$$'] }))).toEqual(['$$a-1 $metadata']);
    });

    it('reports checkpoints at the interval and before caughtUp, after the events they cover', async () => {
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
      const subscription = node.client.subscribeToAll({ filter });
      subscription
        .on('data', ({ event: recorded }) => void order.push(`${recorded?.position?.commit}`))
        .on('caughtUp', () => void order.push('caughtUp'))
        .on('error', () => void order.push('error'));
      await until(() => order.includes('caughtUp'));
      const wanted = node.service.log.eventsOf('wanted-1').map(({ position }) => position);
      expect(order).toEqual([
        ...wanted.flatMap((position, index) => [`${position}`, ...(index % 2 === 1 ? [position] : [])]),
        'caughtUp',
      ]);

      order.length = 0;
      await fill('noise-1', 45, 'Noise');
      await until(() => order.length === 2);
      const noise = node.service.log.eventsOf('noise-1').map(({ position }) => position);
      expect(order).toEqual([noise[109], noise[129]]);
    });

    it('reports a checkpoint that has passed events outside the filter', async () => {
      await fill('noise-1', 100, 'Noise');
      const reached: Position[] = [];
      const filter = streamNameFilter({
        prefixes: ['wanted'],
        checkpointReached: (_, position) => void reached.push(position),
      });
      const { seen } = watch(node.client.subscribeToAll({ filter }));
      await until(() => seen.includes('caughtUp'));
      const pages = positions().filter((_, index) => index > 0 && index % 32 === 0);
      expect(reached).toEqual([{ commit: 0n, prepare: 0n }, ...pages]);
      const resumed = watch(node.client.subscribeToAll({ fromPosition: reached.at(-1) ?? 'start' }));
      await until(() => resumed.seen.includes('caughtUp'));
      expect(resumed.events).toHaveLength(3);
    });
  });
};
