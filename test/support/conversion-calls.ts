import { randomUUID } from 'node:crypto';
import type { SourceFacts } from '../../domain/conversions/admit-call.ts';
import type { LogCall } from '../../command/conversions/log-call.ts';
import { createWaitingBytes } from '../../command/conversions/waiting-bytes.ts';
import { createSourceLedger, type SourceLedgerOptions } from '../../command/conversions/source-ledger.ts';
import { noSegments } from '../../command/conversions/segments.ts';
import type { ConversionsLogged, Health } from '../../domain/conversions/events.ts';
import { conversionStream } from '../../domain/conversions/events.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';

/** A source, its calls and the events in its stream, for tests of the ledger. */

export const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
export const clock = { now: () => NOW_MS };
export const CUSTOMER = 7;
export const SOURCE = '0f6a0a4f-7c11-5d9b-9a51-6f7b0f382f5e';
export const STREAM = conversionStream(CUSTOMER, SOURCE);

export const openSource: SourceFacts = {
  key: 'shop',
  advertiserId: 11,
  isArchived: false,
  isAdvertiserArchived: false,
};

export const item = (eventId: string, members: object = {}): object => ({
  eventId,
  eventTime: '2026-03-01T11:00:00Z',
  ...members,
});

export const items = (...ids: readonly string[]): object[] => ids.map((id) => item(id));

export const callOf = (
  events: readonly unknown[],
  members: Partial<LogCall> & { commandId?: string } = {},
): LogCall => {
  const { commandId = randomUUID(), ...rest } = members;
  return {
    context: { commandId, customerId: CUSTOMER, actor: 'test', requestId: 'request' },
    events,
    bytes: 100 * events.length,
    nowMs: NOW_MS,
    mode: 'log',
    isAbandoned: () => false,
    hasRunBefore: async () => true,
    ...rest,
  };
};

export const ledgerOn = (store: EventStore, options: Partial<SourceLedgerOptions> = {}) =>
  createSourceLedger({
    store,
    segments: noSegments,
    now: () => NOW_MS,
    waitingBytes: createWaitingBytes(),
    customerId: CUSTOMER,
    sourceId: SOURCE,
    loadSource: async () => openSource,
    pause: async () => undefined,
    ...options,
  });

/** @returns the health after each change @throws Error unless exactly the events that change it contain the change */
export const healthChangesIn = (
  logged: readonly Pick<ConversionsLogged, 'health' | 'healthChange'>[],
): readonly Health[] => {
  let before: Health = 'not_seen';
  return logged.flatMap(({ health, healthChange }, revision) => {
    const recorded = JSON.stringify(healthChange);
    const made = health === before ? undefined : { before, eventSourceId: openSource.key };
    if (recorded !== JSON.stringify(made))
      throw new Error(`event ${revision}: ${before} to ${health}, recorded: ${recorded}`);
    before = health;
    return made === undefined ? [] : [health];
  });
};

/** The events in the source's stream. */
export const loggedIn = async (store: Pick<EventStore, 'readStream'>, stream = STREAM) => {
  const logged: (ConversionsLogged & { readonly commandId: string })[] = [];
  for await (const { data, metadata } of store.readStream(stream)) {
    logged.push({ ...(data as unknown as ConversionsLogged), commandId: metadata.causationId });
  }
  return logged;
};
