import { pino } from 'pino';
import { longCallLimits, type CallLimits } from '../../shared/event-store/eventstoredb/call-limits.ts';
import type { Position } from '../../shared/event-store/event-store.ts';
import {
  createEventStoreDbEventStore,
  type EventStoreDbEventStore,
} from '../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import {
  startEventStoreService,
  type EventStoreService,
  type EventStoreServiceOptions,
} from '../support/eventstoredb/event-store-service.ts';

/** Marks that a store has written, newest last. */
export type Mark = readonly [customerId: number, position: Position];

export interface EventStoreDbUnderTest {
  readonly store: EventStoreDbEventStore;
  readonly marks: readonly Mark[];
}

/** One process' worth: a store of its own on a server. @param limits the service's for what is about them */
export const openEventStoreDbStore = (
  connectionString: string,
  recordPosition: () => Promise<void> = async () => undefined,
  limits: CallLimits = longCallLimits,
): EventStoreDbUnderTest => {
  const marks: Mark[] = [];
  const store = createEventStoreDbEventStore({
    connectionString,
    limits,
    log: pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' }),
    recordPosition: async (customerId, position) => {
      await recordPosition();
      marks.push([customerId, position]);
    },
  });
  return { store, marks };
};

export interface EventStoreDbOnService extends EventStoreDbUnderTest {
  readonly service: EventStoreService;
  readonly dispose: () => Promise<void>;
}

/** On an in-memory service of its own, which speaks the real protocol. @param limits as of `openEventStoreDbStore` */
export const makeEventStoreDbOnService = async (
  options: EventStoreServiceOptions = {},
  limits?: CallLimits,
): Promise<EventStoreDbOnService> => {
  const service = await startEventStoreService(options);
  const opened = openEventStoreDbStore(service.url, undefined, limits);
  return {
    ...opened,
    service,
    dispose: async () => {
      await opened.store.close();
      await service.close();
    },
  };
};
