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

/** The one client of a process that is replaced while calls are on their way to it. */

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

const giveUp = async (of: Connection): Promise<void> => {
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

describe('a client that is given up', () => {
  it('while an append is under way: the append goes out again on the next client, and is there once', async () => {
    await send(connection);
    service.faults.inject({ fault: 'mute-after-commit', kinds: ['append'] });
    const appending = send(connection);
    while (service.calls.append < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await giveUp(connection);
    expect(await appending).toMatchObject({ success: true, nextExpectedRevision: 0n });
    expect([service.calls.append, service.log.records.length]).toEqual([3, 2]);
  });

  it('at any step of handing an append to it: the append ends there, or goes out on the next one', async () => {
    // Steps as the language counts them: the client takes about ten to put an append on its channel.
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

  it('is hung up afterwards', async () => {
    await send(connection);
    await giveUp(connection);
    for (let tries = 0; tries < 500 && service.connections > 1; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // That of the next client.
    expect(service.connections).toBe(1);
  });
});
