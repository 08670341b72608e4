import type {
  ResourceType,
  SyndicationRecord,
  SyndicationStatus,
} from '../../domain/syndication/resource.ts';
import { sql } from '../../shared/postgres/build-statement.ts';
import type { TenantDatabase } from '../../shared/postgres/tenant-database.ts';
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
  readonly agentId?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly status?: SyndicationStatus | undefined;
}

const projection = 'syndication';

/** Later rows are read in the order of the list, not by group. */
const OF_GROUPS_MAX = 1_000;

/**
 * The newest of each group (agent, type, status), of these the newest: an index alone finds them, however
 * rare. Far down a long list every group would be read that far, so the list's own index is scanned. Planned
 * once: the planner does not know the sizes of groups and would plan each rare group again.
 */
const keysOfGroups: List['filteredKeys'] = (rows, counts) => {
  const isDeep = `(counted.skip > ${OF_GROUPS_MAX} and counted.total > ${2 * OF_GROUPS_MAX})`;
  return sql.raw(
    `(select newest.id
      from (:groups) g, lateral (
        select r.id, r.updated_at from syndication_records r
        where r.customer_id = :customerId and r.advertiser_id = :advertiserId and r.agent_id = g.agent_id
          and r.resource_type = g.resource_type and r.status = g.status
        order by r.updated_at desc, r.id desc limit counted.take + counted.skip) newest
      order by newest.updated_at desc, newest.id desc
      limit case when ${isDeep} then 0 else counted.take end offset counted.skip)
     union all
     (:deep)`,
    {
      groups: counts.clone().select('agent_id', 'resource_type', 'status').whereRaw('count > 0'),
      deep: pageKeys(rows, 'updated_at', isDeep),
      customerId: 'customerId',
      advertiserId: 'advertiserId',
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

/** Last changed first; undefined if the advertiser does not exist. @throws ReadModelBehindError */
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

const switched = (enabled: boolean | undefined): readonly Filter[] => {
  if (enabled === undefined) return [];
  const where: Filter['rows'] = (query) => query.whereRaw(`status ${enabled ? '<>' : '='} 'DISABLED'`);
  return [{ name: enabled ? 'on' : 'off', rows: where, counts: where }];
};
