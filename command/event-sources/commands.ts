import {
  EVENT_SOURCE,
  type EventSourceCommand,
  type EventSourceRefusal,
  type EventSourceState,
} from '../../domain/event-sources/event-source.ts';
import type { SyncEventSourcesBody } from '../../domain/event-sources/input.ts';
import type { EventSourceSyncResult } from '../../domain/event-sources/resource.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import {
  problemOf,
  syncResources,
  type SyncedKind,
  type SyncItem,
  type SyncResult,
  type SyncWrites,
} from '../resource-syncs/commands.ts';
import { executeOnEventSource } from './handler.ts';

const eventSources: SyncedKind<EventSourceState, EventSourceCommand, EventSourceRefusal> = {
  category: EVENT_SOURCE,
  plural: 'event sources',
  execute: executeOnEventSource,
  archive: (now) => ({ type: 'ArchiveEventSource', now }),
};

export const syncEventSources = async (
  writes: SyncWrites,
  advertiserId: number,
  { account, event_sources, delete_missing }: SyncEventSourcesBody,
  request: RequestContext,
): Promise<EventSourceSyncResult[]> => {
  const items = event_sources.map((read): SyncItem<EventSourceCommand> => {
    const { key } = read;
    if ('sent' in read) return { key, problem: problemOf(read) };
    const definition = { name: key, ...read.item };
    return {
      key,
      command: ({ id: sourceId, ...named }) => ({ type: 'SyncEventSource', ...named, sourceId, definition }),
    };
  });
  const deleteMissing = delete_missing === true;
  const sync = { advertiserId, accountId: account.account_id, items, deleteMissing };
  return (await syncResources(writes, eventSources, sync, request)).map(shown);
};

const shown = (result: SyncResult<unknown>): EventSourceSyncResult => {
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
