import type {
  ResourceType,
  SyndicationRecord,
  SyndicationStatus,
} from '../../domain/syndication/syndication-resource.ts';
import { sql } from '../../shared/postgres/build-statement.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/account-mark.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';
import {
  equal,
  listPage,
  pageKeys,
  uncounted,
  type Filter,
  type List,
  type Page,
} from '../resources/list-page.ts';

export interface SyndicationReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

export interface RecordFilters {
  readonly resourceType?: ResourceType | undefined;
  readonly resourceId?: string | undefined;
  /** UUID. */
  readonly agentId?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly status?: SyndicationStatus | undefined;
}

const projection = 'syndication';

/** Fewer records than this are found by their groups, more of them in the order of the list. */
const OF_GROUPS_MAX = 1_000;

/**
 * The newest of each group (agent, type and status) that the filters name, and of them the newest: an index alone finds
 * them, however rare they are among the others. The groups are few: five statuses of three types for each agent. Deep in
 * a long list, where each group would be read that far, the list's own index says which records fit.
 * To be planned once: how many records a group has is not known to the planner, which takes a plan for the rare one that is
 * asked for to be much cheaper than the same plan for any.
 */
const keysOfGroups: List['filteredKeys'] = (rows, counts) => {
  const isDeep = `(:skip::bigint > ${OF_GROUPS_MAX} and counted.total > ${2 * OF_GROUPS_MAX})`;
  return sql.raw(
    `(select newest.id
      from (:groups) g, lateral (
        select r.id, r.updated_at from syndication_records r
        where r.customer_id = :customerId and r.advertiser_id = :advertiserId and r.agent_id = g.agent_id
          and r.resource_type = g.resource_type and r.status = g.status
        order by r.updated_at desc, r.id desc limit :take::bigint + :skip::bigint) newest
      order by newest.updated_at desc, newest.id desc
      limit case when ${isDeep} then 0 else :take::bigint end offset :skip::bigint)
     union all
     (:deep)`,
    {
      groups: counts.clone().select('agent_id', 'resource_type', 'status').whereRaw('count > 0'),
      deep: pageKeys(rows, 'updated_at', isDeep),
      customerId: 'customerId',
      advertiserId: 'advertiserId',
      take: 'take',
      skip: 'skip',
    },
  );
};

const records: List = {
  readModel: projection,
  table: 'syndication_records',
  at: 'updated_at',
  counts: 'syndication_counts',
  filteredKeys: keysOfGroups,
};

/**
 * One page of an advertiser's records, the last changed first; undefined when there is no such advertiser.
 * @throws ReadModelBehindError
 */
export const listRecords = async (
  reads: SyndicationReads,
  customerId: number,
  advertiserId: number,
  { resourceType, resourceId, agentId, enabled, status }: RecordFilters,
  page: Page,
): Promise<{ readonly records: readonly SyndicationRecord[]; readonly total: number } | undefined> => {
  const filters = [
    ...equal('resource_type', resourceType),
    ...equal('agent_id', agentId),
    ...equal('status', status),
    ...switched(enabled),
    ...uncounted(equal('resource_id', resourceId)),
  ];
  const { known, items, total } = await listPage(reads, records, { customerId, advertiserId }, filters, page);
  return known ? { records: JSON.parse(items) as readonly SyndicationRecord[], total } : undefined;
};

/** Records that are switched on, or off. */
const switched = (enabled: boolean | undefined): readonly Filter[] => {
  if (enabled === undefined) return [];
  const where: Filter['rows'] = (query) => query.whereRaw(`status ${enabled ? '<>' : '='} 'DISABLED'`);
  return [{ name: enabled ? 'on' : 'off', rows: where, counts: where }];
};

/** In which an agent that is there is told to drop what was switched off. */
const DROPPED_SECONDS = 600;

/**
 * Whether anything is at an agent of the account, or is to be dropped there. What was to be dropped longer ago does not
 * keep it: it is told for a day, and may be gone for good.
 * @throws ReadModelBehindError
 */
export const isAgentInUse = async (
  { database, progress }: SyndicationReads,
  customerId: number,
  agentId: string,
): Promise<boolean> => {
  const { used } = await consistentRead<Freshness & { readonly used: boolean }>({
    pool: boundTo(database, customerId),
    projection,
    progress,
    query: {
      name: 'agent-in-use',
      text: `select ${freshnessColumns('f')},
               exists (select from syndication_records r where r.customer_id = $1 and r.agent_id = $3
                       and (r.status <> 'DISABLED' or r.waiting)
                       and (r.status <> 'DISABLED' or r.updated_at > now() - make_interval(secs => $4))) as used
             from ${freshnessSql('$1', '$2')} f`,
      values: [customerId, projection, agentId, DROPPED_SECONDS],
    },
  });
  return used;
};
