import { int4Array } from '../../shared/postgres/binary-array.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';

const projection = 'advertisers';

/** @param waitMs for the read model; default: that of `consistentRead` @throws ReadModelBehindError */
export const findAdvertiserNames = async (
  { database, progress }: { readonly database: TenantDatabase; readonly progress: ProjectionProgress },
  customerId: number,
  ids: readonly number[],
  waitMs?: number,
): Promise<ReadonlyMap<number, string>> => {
  if (ids.length === 0) return new Map();
  const { names } = await consistentRead<Freshness & { readonly names: string }>({
    pool: boundTo(database, customerId),
    projection,
    progress,
    waitMs,
    query: {
      name: 'find-advertiser-names',
      text: `select ${freshnessColumns('f')}, found.names
             from ${freshnessSql('$1', '$2')} f, lateral (
               select coalesce(json_agg(json_build_array(a.id, a.name)), '[]')::text as names
               from advertisers a where a.customer_id = $1 and a.id = any($3::int[])
             ) found`,
      values: [customerId, projection, int4Array(ids)],
    },
  });
  return new Map(JSON.parse(names) as readonly (readonly [number, string])[]);
};
