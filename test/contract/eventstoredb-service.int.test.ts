import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  startEventStoreService,
  type EventStoreService,
} from '../support/eventstoredb/event-store-service.ts';

describe('the in-memory EventStoreDB', () => {
  let service: EventStoreService;
  let client: EventStoreDBClient;
  beforeAll(async () => {
    service = await startEventStoreService();
    client = EventStoreDBClient.connectionString(service.url);
  });
  afterAll(async () => {
    await client.dispose();
    await service.close();
  });

  it('answers an append and a read', async () => {
    const result = await client.appendToStream(
      'a-1',
      [jsonEvent({ id: randomUUID(), type: 'A', data: { n: 1 } })],
      {
        expectedRevision: 'no_stream',
      },
    );
    expect(result).toMatchObject({ success: true, nextExpectedRevision: 0n });
    const events = [];
    for await (const { event } of client.readStream('a-1')) events.push(event);
    expect(events).toMatchObject([{ type: 'A', data: { n: 1 }, revision: 0n, position: result.position }]);
  });
});
