import {
  EVENT_SOURCE,
  eventSourceAggregate,
  type EventSource,
  type EventSourceCommand,
  type EventSourceRefusal,
  type EventSourceState,
} from '../../domain/event-sources/event-source.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import {
  syncResources,
  type SyncedKind,
  type SyncItem,
  type SyncResult,
  type SyncWrites,
} from '../resource-syncs/sync-resources.ts';
import { definitionOf, type SyncEventSourcesBody } from './event-source-input.ts';

export interface SyncedEventSource {
  readonly event_source_id: string;
  readonly action: SyncResult<unknown>['action'];
  readonly error?: string;
  readonly setup?: { readonly snippet_type: 'server_only'; readonly instructions: string };
}

const handler = handlerFor(eventSourceAggregate);

const eventSources: SyncedKind<EventSourceState, EventSourceCommand, EventSourceRefusal> = {
  category: EVENT_SOURCE,
  plural: 'event sources',
  handler,
  archive: (now) => ({ type: 'ArchiveEventSource', now }),
  changeOf: (state) => (state.status === 'NONE' ? 'deleted' : state.lastChange),
};

/** @throws as `syncResources` */
export const syncEventSources = async (
  writes: SyncWrites,
  advertiserId: number,
  { account, event_sources, delete_missing }: SyncEventSourcesBody,
  request: RequestContext,
): Promise<readonly SyncedEventSource[]> => {
  const items = event_sources.map((read): SyncItem<EventSourceCommand> => {
    if ('problem' in read) return read;
    const definition = definitionOf(read.key, read.item);
    return {
      key: read.key,
      command: ({ id: sourceId, ...named }) => ({ type: 'SyncEventSource', ...named, sourceId, definition }),
    };
  });
  const deleteMissing = delete_missing === true;
  const asked = { advertiserId, accountId: account.account_id, items, deleteMissing };
  return (await syncResources(writes, eventSources, asked, request)).map(shown);
};

const shown = (result: SyncResult<unknown>): SyncedEventSource => {
  const { key: event_source_id, action } = result;
  if (action === 'failed') return { event_source_id, action, error: result.problem };
  if (action === 'deleted') return { event_source_id, action };
  const path = `/api/v2/buyer/event-sources/${encodeURIComponent(event_source_id)}/events`;
  return {
    event_source_id,
    action,
    setup: { snippet_type: 'server_only', instructions: `Send events to POST ${path}.` },
  };
};

/** The current source; undefined when it does not exist. */
export const loadEventSource = async (
  stores: CommandStores,
  customerId: number,
  sourceId: string,
): Promise<{ readonly source: EventSource; readonly revision: number } | undefined> => {
  const { state, revision } = await handler.loadAt(stores, customerId, sourceId);
  return state.status === 'NONE' || typeof revision !== 'number' ? undefined : { source: state, revision };
};
