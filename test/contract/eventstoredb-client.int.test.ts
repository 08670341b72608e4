import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { jsonEvent, type EventStoreDBClient } from '@eventstore/db-client';
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { failureOf } from '../../shared/event-store/eventstoredb/failure.ts';
import {
  createNodeClient,
  closeClient,
  internalsOf,
} from '../../shared/event-store/eventstoredb/node-client.ts';
import {
  startEventStoreService,
  type EventStoreService,
} from '../support/eventstoredb/event-store-service.ts';
import { newStream } from './sample-events.ts';

/** Members of the client that the adapter replaces or calls, although its public type does not declare them. */

let service: EventStoreService;
let client: EventStoreDBClient;
beforeEach(async () => {
  service = await startEventStoreService();
  client = createNodeClient(service.url, { address: '127.0.0.1', port: service.port }, 0);
});
afterEach(async () => {
  await closeClient(client);
  await service.close();
});

const append = () =>
  client.appendToStream(newStream(), [jsonEvent({ type: 'SampleRecorded', data: {} })], {
    expectedRevision: 'no_stream',
  });

describe('the installed client', () => {
  it('is the version that the adapter was written for', () => {
    const { version } = createRequire(import.meta.url)('@eventstore/db-client/package.json') as {
      version: string;
    };
    expect(version).toBe('6.2.1');
  });

  it('has the members that are replaced, and its own code calls them on each client', async () => {
    for (const member of [
      'supports',
      'handleError',
      'execute',
      'getGRPCClient',
      'getChannel',
      'callArguments',
    ]) {
      expect([member, typeof Object.getOwnPropertyDescriptor(client, member)?.value]).toEqual([
        member,
        'function',
      ]);
    }
    const called: string[] = [];
    const { supports, execute } = internalsOf(client);
    Object.assign(client, {
      supports: () => (called.push('supports'), supports()),
      execute: (...call: Parameters<typeof execute>) => (called.push('execute'), execute(...call)),
      handleError: async () => void called.push('handleError'),
    });
    await append();
    service.faults.inject({ fault: 'unavailable', kinds: ['read-all'] });
    await expect(client.readAll({ maxCount: 1 })[Symbol.asyncIterator]().next()).rejects.toThrow(
      'shutting down',
    );
    expect(called).toEqual(['supports', 'execute', 'handleError']);
  });

  it('starts an append in the same microtask that checks its channel', async () => {
    const { execute } = internalsOf(client);
    let isStarted = false;
    const stub = await internalsOf(client).getGRPCClient(StreamsClient, 'appendToStream');
    const { append: start } = stub;
    stub.append = ((...call: Parameters<typeof start>) => {
      isStarted = true;
      return start.apply(stub, call);
    }) as typeof start;
    Object.assign(client, {
      execute: (...[Stub, name, action]: Parameters<typeof execute>) =>
        execute(Stub, name, (one) => {
          const acting = action(one);
          // If the append began a microtask later, its channel could be closed before it starts.
          expect(isStarted).toBe(true);
          return acting;
        }),
    });
    await append();
    expect(isStarted).toBe(true);
  });
});

describe('an append on a channel that is closed', () => {
  it.each(Array.from({ length: 16 }, (_, steps) => steps))(
    'after %i steps of it: is an answer, or nothing was sent; it never hangs',
    async (steps) => {
      await append();
      const appending = append().then(
        () => 'appended',
        (error: unknown) => error,
      );
      for (let step = 0; step < steps; step += 1) await Promise.resolve();
      (await internalsOf(client).getChannel()).close();
      const outcome = await appending;
      if (outcome === 'appended') return;
      expect(failureOf(outcome)).toEqual({ kind: 'not-taken' });
      expect(service.calls.append).toBe(1);
    },
  );
});
