import { Counter, Gauge, type Registry } from 'prom-client';
import type { EventStoreDbEventStore } from './eventstoredb-event-store.ts';

export const registerEventStoreDbMetrics = (
  registry: Registry,
  store: Pick<EventStoreDbEventStore, 'appendsPending' | 'clientsReplaced' | 'subscriptionsLost'>,
): void => {
  const registers = [registry];
  const pending: Gauge = new Gauge({
    name: 'exchange_eventstoredb_appends_pending',
    help: 'Appends without an answer so far',
    registers,
    collect: () => pending.set(store.appendsPending),
  });
  const counter = (name: string, help: string, value: () => number): Counter =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  counter(
    'exchange_eventstoredb_clients_replaced_total',
    'Clients discarded because their connection was in doubt',
    () => store.clientsReplaced,
  );
  counter(
    'exchange_eventstoredb_subscriptions_lost_total',
    'Subscriptions that ended and were replaced',
    () => store.subscriptionsLost,
  );
};
