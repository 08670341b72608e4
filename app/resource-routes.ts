import { audienceWriteRoutes } from '../command/audiences/routes.ts';
import { catalogWriteRoutes } from '../command/catalogs/routes.ts';
import type { Confirmations } from '../command/conversions/confirmations.ts';
import type { Ledgers } from '../command/conversions/ledgers.ts';
import { conversionWriteRoutes, type SourceOfKey } from '../command/conversions/routes.ts';
import { eventSourceWriteRoutes } from '../command/event-sources/routes.ts';
import { loadEventSource } from '../command/event-sources/sync-event-sources.ts';
import type { SyncStores } from '../command/resource-syncs/plan-sync.ts';
import { loadTask } from '../command/tasks/accept-task.ts';
import type { SyncWrites } from '../command/resource-syncs/sync-resources.ts';
import { EVENT_SOURCE } from '../domain/event-sources/event-source.ts';
import { audienceReadRoutes, audiencesTable } from '../query/audiences/routes.ts';
import { catalogReadRoutes, catalogsTable } from '../query/catalogs/routes.ts';
import { eventSourcesTable, findEventSources } from '../query/event-sources/find-event-sources.ts';
import { eventSourceReadRoutes } from '../query/event-sources/routes.ts';
import { behind } from '../query/resources/behind.ts';
import { activeKeys, type ResourceReads, type ResourceTable } from '../query/resources/resource-reads.ts';
import { taskReadRoutes } from '../query/tasks/routes.ts';
import type { AnswerCache } from '../shared/http/answer-cache.ts';
import type { Principal } from '../shared/http/principal.ts';
import type { Route } from '../shared/http/route.ts';
import type { OutboundPolicy } from '../shared/outbound/outbound-url.ts';
import { resourceIdOf } from '../shared/aggregate/ids.ts';

interface Parts extends SyncStores, ResourceReads {
  readonly ledgers: Ledgers;
  readonly confirmations: Confirmations;
  readonly outbound: OutboundPolicy;
  readonly answers: AnswerCache;
}

/** What an advertiser has that can be syndicated. */
export const resourceRoutes = (parts: Parts): readonly Route[] => [
  ...eventSourceWriteRoutes(writesOf(parts, eventSourcesTable)),
  ...audienceWriteRoutes(writesOf(parts, audiencesTable)),
  ...audienceReadRoutes(parts),
  ...taskReadRoutes({
    ...parts,
    foldTask: (customerId, taskId) => loadTask(parts, customerId, taskId),
  }),
  ...catalogWriteRoutes({ ...writesOf(parts, catalogsTable), outbound: parts.outbound }),
  ...catalogReadRoutes(parts),
  ...conversionWriteRoutes({
    ...parts,
    sourcesOf: (principal, key) => sourcesOf(parts, principal, key),
  }),
  ...eventSourceReadRoutes({
    ...parts,
    foldEventSource: async (customerId, sourceId) =>
      (await loadEventSource(parts, customerId, sourceId))?.source,
    sourceIdOf: (customerId, advertiserId, key) => resourceIdOf(EVENT_SOURCE, customerId, advertiserId, key),
  }),
];

/**
 * Read in every call of conversion events, so from memory while the account's version is the same: conversion events do not
 * change it. That a key has no source is not kept: there is no end of such keys.
 */
const sourcesOf = (
  parts: Parts,
  { customerId, version }: Principal,
  key: string,
): Promise<readonly SourceOfKey[]> =>
  parts.answers.answer(
    JSON.stringify([customerId, 'sources of a key', key]),
    version,
    async () => {
      const found = await findEventSources(parts, customerId, key).catch(behind);
      return found.map(({ sourceId, status }): SourceOfKey => ({ sourceId, status }));
    },
    (sources) => NAMED_SOURCE_BYTES * sources.length,
  );

/** In memory, about. */
const NAMED_SOURCE_BYTES = 256;

const writesOf = (parts: Parts, table: ResourceTable): SyncWrites => ({
  ...parts,
  activeKeys: (customerId, advertiserId) => activeKeys(parts, table, customerId, advertiserId),
});
