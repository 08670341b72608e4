import { BUYER, useItems } from '../api/query.ts';
import type { Agent, Audience, Catalog, EventSource, SyndicationRecord } from '../api/types.ts';

export type ResourceType = SyndicationRecord['resourceType'];

/** A row of the board. */
export interface Syndicated {
  readonly type: ResourceType;
  readonly id: string;
  readonly name: string;
  /** What agents would get, in a few words. */
  readonly about: string;
}

export const resourceTypes: readonly (readonly [type: ResourceType, label: string])[] = [
  ['AUDIENCE', 'Audience'],
  ['EVENT_SOURCE', 'Event source'],
  ['CATALOG', 'Catalog'],
];

export const states = ['PENDING', 'SYNCING', 'COMPLETED', 'FAILED', 'DISABLED'] as const;

export const labelOf = (type: ResourceType): string =>
  resourceTypes.find(([one]) => one === type)?.[1] ?? type;

/** More rows are not shown: each 100 are one more request. */
const ROWS_MAX = 200;
const RECORDS_MAX = 1_000;

export const advertiserPath = (advertiserId: number | string): string =>
  `${BUYER}/advertisers/${advertiserId}`;

export const recordsPath = (advertiserId: number | string): string =>
  `${advertiserPath(advertiserId)}/syndication-status`;

const audienceRow = ({ audienceId, name, uploadedCount, status }: Audience): Syndicated => ({
  type: 'AUDIENCE',
  id: audienceId,
  name,
  about: `${uploadedCount} members, ${status}`,
});

const sourceRow = ({ eventSourceId, name, health }: EventSource): Syndicated => ({
  type: 'EVENT_SOURCE',
  id: eventSourceId,
  name,
  about: health.status,
});

const catalogRow = ({ catalogId, name, itemCount, type }: Catalog): Syndicated => ({
  type: 'CATALOG',
  id: catalogId,
  name,
  about: `${itemCount} items, ${type}`,
});

export interface Board {
  readonly rows: readonly Syndicated[];
  readonly agents: readonly Agent[];
  /** By `cellKey`. */
  readonly records: ReadonlyMap<string, SyndicationRecord>;
  readonly isWhole: boolean;
}

export const cellKey = (type: ResourceType, resourceId: string, agentId: string): string =>
  JSON.stringify([type, resourceId, agentId]);

export const useAgents = () => useItems<Agent>(`${BUYER}/adcp-agents`);

/** @returns undefined while it is read */
export const useBoard = (
  advertiserId: number,
): { readonly board: Board | undefined; readonly error: unknown } => {
  const path = advertiserPath(advertiserId);
  const max = { itemsMax: ROWS_MAX };
  const agents = useAgents();
  const audiences = useItems<Audience>(`${path}/audiences`, {}, max);
  const sources = useItems<EventSource>(`${path}/event-sources`, {}, max);
  const catalogs = useItems<Catalog>(`${path}/catalogs`, {}, max);
  const records = useItems<SyndicationRecord>(recordsPath(advertiserId), {}, { itemsMax: RECORDS_MAX });
  const error = agents.error ?? audiences.error ?? sources.error ?? catalogs.error ?? records.error;
  if (!agents.data || !audiences.data || !sources.data || !catalogs.data || !records.data)
    return { board: undefined, error };
  const lists = [audiences.data.map(audienceRow), sources.data.map(sourceRow), catalogs.data.map(catalogRow)];
  return {
    error,
    board: {
      rows: lists.flat(),
      agents: agents.data,
      records: new Map(
        records.data.map((record) => [
          cellKey(record.resourceType, record.resourceId, record.adcpAgentId),
          record,
        ]),
      ),
      isWhole: lists.every(({ length }) => length < ROWS_MAX) && records.data.length < RECORDS_MAX,
    },
  };
};
