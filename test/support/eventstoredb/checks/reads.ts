import {
  type EventStoreDBClient,
  StreamDeletedError,
  StreamNotFoundError,
  binaryEvent,
  type Position,
} from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { append, event, events, positionOf, toArray } from '../client-kit.ts';
import { createNode } from './node.ts';

export const checkReads = (): void => {
  const node = createNode();

  describe('a read', () => {
    const stream = 'read-1';
    let written: Position[];
    beforeAll(async () => {
      await node.open();
      await append(node.client, stream, events(3), 'no_stream');
      await append(node.client, 'other-1', [event({ type: 'Other', data: { text: 'grüezi 👋' } })], 'any');
      await append(node.client, stream, events(2), 2n);
      written = (await toArray(node.client.readAll())).map(positionOf);
    });
    afterAll(node.shut);
    const revisions = async (...[options]: [Parameters<EventStoreDBClient['readStream']>[1]?]) =>
      (await toArray(node.client.readStream(stream, options))).map((read) => Number(read.event?.revision));

    it('reads a stream in both directions, from a revision and for a number of events', async () => {
      expect(await revisions()).toEqual([0, 1, 2, 3, 4]);
      expect(await revisions({ fromRevision: 3n })).toEqual([3, 4]);
      expect(await revisions({ fromRevision: 1n, maxCount: 2 })).toEqual([1, 2]);
      expect(await revisions({ fromRevision: 9n })).toEqual([]);
      expect(await revisions({ direction: 'backwards', fromRevision: 'end' })).toEqual([4, 3, 2, 1, 0]);
      expect(await revisions({ direction: 'backwards', fromRevision: 2n, maxCount: 2 })).toEqual([2, 1]);
      expect(await revisions({ direction: 'backwards', fromRevision: 'start' })).toEqual([0]);
    });

    it('returns events as they were written', async () => {
      const [read] = await toArray(node.client.readStream('other-1'));
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

    it('distinguishes missing, deleted and truncated streams', async () => {
      await expect(toArray(node.client.readStream('none'))).rejects.toBeInstanceOf(StreamNotFoundError);
      await append(node.client, 'soft', events(1), 'any');
      await node.client.deleteStream('soft');
      await expect(toArray(node.client.readStream('soft'))).rejects.toBeInstanceOf(StreamNotFoundError);
      await node.client.tombstoneStream('hard');
      await expect(toArray(node.client.readStream('hard'))).rejects.toBeInstanceOf(StreamDeletedError);
      await expect(node.client.deleteStream('hard')).rejects.toBeInstanceOf(StreamDeletedError);
      await expect(node.client.deleteStream('never')).rejects.toMatchObject({
        type: 'wrong-expected-version',
        expectedVersion: -2n,
        actualVersion: -1n,
      });
      await append(node.client, 'truncated', events(5), 'any');
      await node.client.setStreamMetadata('truncated', { truncateBefore: 2, maxCount: 2 });
      const left = await toArray(node.client.readStream('truncated'));
      expect(left.map((read) => read.event?.revision)).toEqual([3n, 4n]);
      const all = (await toArray(node.client.readAll())).map((read) => read.event?.streamId);
      expect(all.filter((name) => name === 'truncated')).toHaveLength(5);
    });

    it('reads all streams in commit order, at positions with gaps', async () => {
      const all = await toArray(node.client.readAll({ maxCount: 6 }));
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

    it('starts at a position, backwards before it, and fails between two events', async () => {
      const at = written[2] ?? { commit: 0n, prepare: 0n };
      const positions = async (direction: 'forwards' | 'backwards', fromPosition: Position) =>
        (await toArray(node.client.readAll({ direction, fromPosition, maxCount: 2 }))).map(positionOf);
      expect(await positions('forwards', at)).toEqual(written.slice(2, 4));
      expect(await positions('backwards', at)).toEqual([written[1], written[0]]);
      const between = { commit: at.commit + 1n, prepare: at.prepare + 1n };
      await expect(positions('forwards', between)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    });

    it('resolves links on request, and returns the link alone if its event is missing', async () => {
      const link = (to: string) => binaryEvent({ type: '$>', data: Buffer.from(to) });
      await node.client.appendToStream('links', [link(`1@${stream}`), link('7@none')]);
      const raw = await toArray(node.client.readStream('links'));
      expect(raw.map((read) => Buffer.from(read.event?.data as Uint8Array).toString())).toEqual([
        `1@${stream}`,
        '7@none',
      ]);
      const resolved = await toArray(node.client.readStream('links', { resolveLinkTos: true }));
      expect(resolved).toMatchObject([
        { event: { streamId: stream, revision: 1n }, link: { streamId: 'links', revision: 0n } },
        { link: { streamId: 'links', revision: 1n } },
      ]);
      expect(resolved[1]?.event).toBeUndefined();
    });
  });
};
