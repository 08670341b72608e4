import { EventStoreDBClient, StreamNotFoundError, UnavailableError } from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from '@jest/globals';
import { append, disconnect, events, newStream, toArray, until, watch } from '../client-kit.ts';
import { createEventLog } from '../event-log.ts';
import { startEventStoreService } from '../event-store-service.ts';
import { createNode } from './node.ts';

export const checkNodes = (): void => {
  const node = createNode();

  describe('a node', () => {
    afterEach(node.shut);

    it('announces its features', async () => {
      for (const features of [[], 'unimplemented'] as const) {
        await node.open({ features });
        await append(node.client, newStream(), events(1), 'any');
        expect(node.service.calls).toMatchObject({ features: 1, append: 1, 'batch-append': 0 });
        if (features !== 'unimplemented') await node.shut();
      }
    });

    it('that fails to announce its features is not asked again by the same client', async () => {
      await node.open();
      node.service.faults.inject({ fault: 'status', code: status.INTERNAL, kinds: ['features'] });
      await expect(append(node.client, newStream(), events(1), 'any')).rejects.toMatchObject({
        code: status.INTERNAL,
      });
      await expect(append(node.client, newStream(), events(1), 'any')).rejects.toMatchObject({
        code: status.INTERNAL,
      });
      expect(node.service.calls.features).toBe(1);
      const other = EventStoreDBClient.connectionString(node.service.url);
      await append(other, newStream(), events(1), 'any');
      await disconnect(other);
    });

    it('is found by gossip', async () => {
      await node.open();
      const leader = await startEventStoreService({ log: node.service.log });
      node.service.faults.gossip([
        { host: '127.0.0.1', port: node.service.port, state: 'follower' },
        { host: '127.0.0.1', port: leader.port, state: 'leader' },
      ]);
      const discovering = EventStoreDBClient.connectionString(
        `esdb+discover://127.0.0.1:${node.service.port}?tls=false`,
      );
      await append(discovering, 'found', events(1), 'any');
      expect(node.service.calls).toMatchObject({ gossip: 1, 'batch-append': 0 });
      expect(leader.calls['batch-append']).toBe(1);
      await disconnect(discovering);
      await leader.close();
    });

    it('shares its log and its cache of ids with the other nodes', async () => {
      await node.open();
      const other = await startEventStoreService({ log: node.service.log });
      const otherClient = EventStoreDBClient.connectionString(other.url);
      const { events: received } = watch(otherClient.subscribeToAll());
      const written = events(2);
      await append(node.client, 'shared', written, 'any');
      await append(otherClient, 'shared', written, 'any');
      await until(() => received.length === 2);
      expect(node.countOf('shared')).toBe(2);
      await disconnect(otherClient);
      await other.close();
    });

    it('restarts on its port with its log, or with an older or another one', async () => {
      await node.open();
      await append(node.client, 'kept', events(3), 'no_stream');
      const older = node.service.log.copy();
      await append(node.client, 'kept', events(2), 2n);
      const head = node.service.log.end;
      const { ended } = watch(node.client.subscribeToAll());
      await node.restart();
      expect(await ended).toBeInstanceOf(UnavailableError);
      await node.answering();
      expect(await toArray(node.client.readStream('kept'))).toHaveLength(5);
      expect(() => node.service.log.truncate(1)).toThrow('being served');
      await node.restart(() => older);
      await node.answering();
      expect(await toArray(node.client.readStream('kept'))).toHaveLength(3);
      expect(node.service.log.end).toBeLessThan(head);
      await node.restart((log) => {
        log.truncate(1);
        return log;
      });
      await node.answering();
      expect(await toArray(node.client.readStream('kept'))).toHaveLength(1);
      await node.restart(() => createEventLog());
      await node.answering();
      await expect(toArray(node.client.readStream('kept'))).rejects.toBeInstanceOf(StreamNotFoundError);
    });
  });
};
