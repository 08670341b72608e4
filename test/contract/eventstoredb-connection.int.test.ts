import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { encodeAppend } from '../../shared/event-store/append-request.ts';
import { createConnection, type Connection } from '../../shared/event-store/eventstoredb/connection.ts';
import { sendAppend } from '../../shared/event-store/eventstoredb/send-append.ts';
import { toEventData } from '../../shared/event-store/eventstoredb/stored-event.ts';
import {
  startEventStoreService,
  type EventStoreService,
} from '../support/eventstoredb/event-store-service.ts';
import { newStream, sampleEvents } from './sample-events.ts';

/** A process has one client. It is replaced while calls use it. */

let service: EventStoreService;
let connection: Connection;
beforeEach(async () => {
  service = await startEventStoreService();
  connection = connect();
});
afterEach(async () => {
  await connection.close();
  await service.close();
});

const connect = (): Connection => createConnection(service.url, pino({ level: 'silent' }));

const unreachable = Object.assign(new Error('No connection established'), { code: status.UNAVAILABLE });

const replaceClient = async (of: Connection): Promise<void> => {
  const old = await of.leader(5_000);
  of.report(old, unreachable);
  expect(of.givenUp(old).aborted).toBe(true);
  expect(await of.leader(5_000)).not.toBe(old);
};

const send = (on: Connection) => {
  const stream = newStream();
  return sendAppend(on, {
    stream,
    expected: 'no-stream',
    events: toEventData(encodeAppend(stream, sampleEvents(1), 'no-stream').events, randomUUID()),
    endMs: performance.now() + 5_000,
  });
};

describe('a client that is replaced', () => {
  it('during an append: the append is sent again on the next client and stored once', async () => {
    await send(connection);
    service.faults.inject({ fault: 'mute-after-commit', kinds: ['append'] });
    const appending = send(connection);
    while (service.calls.append < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await replaceClient(connection);
    expect(await appending).toMatchObject({ success: true, nextExpectedRevision: 0n });
    expect([service.calls.append, service.log.records.length]).toEqual([3, 2]);
  });

  it('at any microtask of sending an append: the append completes on one of the two clients', async () => {
    // The client takes about ten microtasks to send an append on its channel.
    for (let steps = 0; steps < 24; steps += 1) {
      const own = connect();
      await send(own);
      const old = await own.leader(5_000);
      const appending = send(own);
      for (let step = 0; step < steps; step += 1) await Promise.resolve();
      own.report(old, unreachable);
      expect(await appending).toMatchObject({ success: true });
      await own.close();
    }
    expect(service.log.records.filter(({ stream }) => !stream.startsWith('$'))).toHaveLength(48);
  });

  it('is disconnected afterwards', async () => {
    await send(connection);
    await replaceClient(connection);
    for (let tries = 0; tries < 500 && service.connections > 1; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // The next client's connection.
    expect(service.connections).toBe(1);
  });
});
