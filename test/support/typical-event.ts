import { randomUUID } from 'node:crypto';
import type { NewEvent } from '../../shared/event-store/event-store.ts';

/** An event of the size of `AdvertiserCreated`: some 150 bytes of data, 300 of metadata. */
export const typicalEvent = (): NewEvent => ({
  id: randomUUID(),
  type: 'SampleRecorded',
  data: { name: 'x'.repeat(120), budget: 1_000 },
  metadata: {
    customerId: 1,
    actor: 'api-key:1',
    requestId: randomUUID(),
    correlationId: randomUUID(),
    causationId: randomUUID(),
    occurredAt: '2026-01-01T00:00:00.000Z',
    schemaVersion: 1,
  },
});
