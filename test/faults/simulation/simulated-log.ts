import { createMemoryEventStore } from '../../../shared/event-store/memory-event-store.ts';
import { START, type EventStore, type RecordedEvent } from '../../../shared/event-store/event-store.ts';
import { advertiserStream } from '../../../domain/advertisers/advertiser.ts';
import { createAdvertiser } from '../../../command/advertisers/commands.ts';
import { TARGETS } from './operation.ts';
import type { LogView } from './projector-node.ts';
import { CUSTOMER_ID, FIRST_TARGET_ID } from './request.ts';

export const SEEDED_BY = 'before the schedule';

/** The log in memory, and its view for projectors. */
export interface SimulatedLog {
  readonly store: EventStore;
  readonly view: LogView;
}

/** A log with the advertisers that exist at the start of a schedule. */
export const createSimulatedLog = async (clock: { now(): number }): Promise<SimulatedLog> => {
  const memory = createMemoryEventStore(clock);
  const events: RecordedEvent[] = [];
  let waiting: (() => void)[] = [];

  const catchUp = async (): Promise<void> => {
    events.push(...(await memory.readAll({ after: events.at(-1)?.position ?? START, limit: 1_000 })));
    const awake = waiting;
    waiting = [];
    for (const wake of awake) wake();
  };

  const store: EventStore = {
    ...memory,
    append: async (...append) => {
      const result = await memory.append(...append);
      await catchUp();
      return result;
    },
  };
  for (let index = 0; index < TARGETS; index += 1) await seed(store, FIRST_TARGET_ID + index, clock.now());
  return {
    store,
    view: {
      events,
      reaches: (after) =>
        (events.at(-1)?.position ?? START) > after
          ? Promise.resolve()
          : new Promise((resolve) => waiting.push(resolve)),
    },
  };
};

const seed = async (store: EventStore, advertiserId: number, now: number): Promise<void> => {
  const occurredAt = new Date(now).toISOString();
  const ids = { advertiserId, customerId: CUSTOMER_ID };
  const { details } = createAdvertiser({ name: 'first' }, ids, { commandId: SEEDED_BY, now: occurredAt });
  const event = {
    id: `00000000-0000-4000-8000-00000000${advertiserId}`,
    type: 'AdvertiserCreated',
    data: JSON.parse(JSON.stringify({ ...ids, ...details, frequencyCaps: [] })),
    metadata: {
      customerId: CUSTOMER_ID,
      actor: 'simulation',
      requestId: SEEDED_BY,
      correlationId: SEEDED_BY,
      causationId: SEEDED_BY,
      occurredAt,
      schemaVersion: 1,
    },
  };
  await store.append(advertiserStream(CUSTOMER_ID, advertiserId), [event], 'no-stream');
};
