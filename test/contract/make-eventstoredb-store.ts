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

/** A written account position; a store lists them newest last. */
export type AccountPosition = readonly [customerId: number, position: Position];

export interface EventStoreDbUnderTest {
  readonly store: EventStoreDbEventStore;
  readonly accountPositions: readonly AccountPosition[];
}

/** Opens a store as one process does. @param limits `callLimits` in tests that measure times */
export const openEventStoreDbStore = (
  connectionString: string,
  recordPosition: () => Promise<void> = async () => undefined,
  limits: CallLimits = longCallLimits,
): EventStoreDbUnderTest => {
  const accountPositions: AccountPosition[] = [];
  const store = createEventStoreDbEventStore({
    connectionString,
    limits,
    log: pino({ level: process.env['TEST_LOG_LEVEL'] ?? 'silent' }),
    recordPosition: async (customerId, position) => {
      await recordPosition();
      accountPositions.push([customerId, position]);
    },
  });
  return { store, accountPositions };
};

export interface EventStoreDbOnService extends EventStoreDbUnderTest {
  readonly service: EventStoreService;
  readonly dispose: () => Promise<void>;
}

/**
 * Opens a store on a new in-memory service, which speaks the real protocol.
 * @param limits as for `openEventStoreDbStore`
 */
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
