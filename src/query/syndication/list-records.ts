import type {
  ResourceType,
  SyndicationRecord,
  SyndicationStatus,
} from '../../domain/syndication/syndication-resource.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  freshnessSql,
  type Freshness,
} from '../../shared/read-your-writes/account-mark.ts';
import { consistentRead } from '../../shared/read-your-writes/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/read-your-writes/projection-progress.ts';
import { NO_UUID, pageKeysSql, pageStartSql, type PageBlocks } from '../resources/page-keys.ts';

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

const blocks: PageBlocks = {
  table: 'syndication_blocks',
  advertiserId: '$4',
  projection: '$2',
  noId: NO_UUID,
};

interface ListRow extends Freshness {
  readonly known: boolean;
  readonly items: string;
  readonly total: number;
}

/**
 * One page of an advertiser's records, the last changed first; undefined when there is no such advertiser. Totals
 * are kept by the projection; only those of one resource, which has a record for each agent, are counted.
 * @throws ReadModelBehindError
 */
export const listRecords = async (
  { database, progress }: SyndicationReads,
  customerId: number,
  advertiserId: number,
  filters: RecordFilters,
  { skip, take }: { readonly skip: number; readonly take: number },
): Promise<{ readonly records: readonly SyndicationRecord[]; readonly total: number } | undefined> => {
  const values: unknown[] = [customerId, projection, 'advertisers', advertiserId, take, skip];
  const { where, counted, variant } = conditionsOf(filters, (value) => `$${values.push(value)}`);
  const total = counted
    ? `(select coalesce(sum(count), 0)::bigint as total from syndication_counts where ${where})`
    : `(select count(*) as total from syndication_records where ${where})`;
  const page = !counted ? pageSql(where) : variant === '' ? pageOfAllSql(where) : pageOfGroupsSql(where);
  const { known, items, ...row } = await consistentRead<ListRow>({
    pool: boundTo(database, customerId),
    projection,
    progress,
    query: {
      name: `list-syndication${variant}`,
      text: `select ${freshnessColumns('f')}, counted.total::float8, page.items,
               exists (select from advertisers a where a.customer_id = $1 and a.id = $4) as known
             from ${freshnessOfBothSql('$1', '$2', '$3')} f, ${total} counted, lateral (
               select coalesce('[' || string_agg(p.body, ',' order by p.updated_at desc, p.id desc) || ']', '[]')
                 as items
               from (${page}) p
             ) page`,
      values,
      planOnce: counted && variant !== '',
    },
  });
  return known ? { records: JSON.parse(items) as readonly SyndicationRecord[], total: row.total } : undefined;
};

const pageSql = (where: string): string =>
  `select body, updated_at, id from syndication_records where ${where}
   order by updated_at desc, id desc limit $5 offset $6`;

const pageOfAllSql = (where: string): string =>
  `select r.body, r.updated_at, r.id
   from (${pageKeysSql({
     table: 'syndication_records',
     where,
     at: 'updated_at',
     take: '$5',
     skip: '$6',
     total: 'counted.total',
     blocks,
   })}) found
     join syndication_records r on r.customer_id = $1 and r.id = found.id`;

/**
 * The newest of each group (agent, type and status) that the filters name, and of them the newest: an index alone finds
 * them, however rare they are among the others. The groups are few: five statuses of three types for each agent. Where
 * they begin the blocks say: behind so many records of these groups that what is left to be passed over is within one.
 * To be planned once: how many records a group has is not known to the planner, which takes a plan for the rare one that is
 * asked for to be much cheaper than the same plan for any.
 */
const pageOfGroupsSql = (where: string): string => {
  const groups = `select agent_id, resource_type, status from syndication_counts where ${where} and count > 0`;
  const kinds = `select g.agent_id || '/' || g.resource_type || '/' || g.status from (${groups}) g`;
  return `select r.body, r.updated_at, r.id
   from (${pageStartSql({ ...blocks, kinds }, { skip: '$6::bigint', total: 'counted.total' })}) s, lateral (
         select newest.id
         from (${groups}) g,
           lateral (select r.id, r.updated_at from syndication_records r
                    where r.customer_id = $1 and r.advertiser_id = $4 and r.agent_id = g.agent_id
                      and r.resource_type = g.resource_type and r.status = g.status
                      and (r.updated_at, r.id) < (s.at, s.id)
                    order by r.updated_at desc, r.id desc limit $5::bigint + s.rest) newest
         order by newest.updated_at desc, newest.id desc limit $5 offset s.rest) found
     join syndication_records r on r.customer_id = $1 and r.id = found.id`;
};

/** SQL of the filters, one text for each set of them, so that each gets its plan. */
const conditionsOf = (
  { resourceType, resourceId, agentId, enabled, status }: RecordFilters,
  parameter: (value: unknown) => string,
): { readonly where: string; readonly counted: boolean; readonly variant: string } => {
  const conditions = ['customer_id = $1', 'advertiser_id = $4'];
  const variant: string[] = [];
  const add = (name: string, condition: string): void => {
    conditions.push(condition);
    variant.push(`-${name}`);
  };
  if (resourceType !== undefined) add('type', `resource_type = ${parameter(resourceType)}`);
  if (agentId !== undefined) add('agent', `agent_id = ${parameter(agentId)}`);
  if (status !== undefined) add('status', `status = ${parameter(status)}`);
  if (enabled === true) add('on', `status <> 'DISABLED'`);
  if (enabled === false) add('off', `status = 'DISABLED'`);
  if (resourceId !== undefined) add('resource', `resource_id = ${parameter(resourceId)}`);
  return { where: conditions.join(' and '), counted: resourceId === undefined, variant: variant.join('') };
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
