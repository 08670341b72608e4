import { int8Array, uuidArray } from '../../shared/postgres/binary-array.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

export interface AudienceAt {
  readonly audienceId: string;
  readonly revision: number;
}

const projection = 'audiences';

/** Undefined for events older than `audience_sizes`. @throws ReadModelBehindError */
export const findAudienceSizes = async (
  { database, progress }: ResourceReads,
  customerId: number,
  queries: readonly AudienceAt[],
): Promise<readonly (number | undefined)[]> => {
  if (queries.length === 0) return [];
  const { sizes } = await consistentRead<Freshness & { readonly sizes: string }>({
    pool: boundTo(database, customerId),
    projection,
    progress,
    query: {
      name: 'find-audience-sizes',
      text: `select ${freshnessColumns('f')}, found.sizes
             from ${freshnessSql('$1', '$2')} f, lateral (
               select json_agg(coalesce(s.members, a.members) order by q.n)::text as sizes
               from unnest($3::uuid[], $4::bigint[]) with ordinality as q(audience_id, revision, n)
               left join audience_sizes s on s.customer_id = $1 and s.audience_id = q.audience_id
                 and s.revision = q.revision
               left join audiences a on s.members is null and a.customer_id = $1 and a.id = q.audience_id
                 and a.revision = q.revision
             ) found`,
      values: [
        customerId,
        projection,
        uuidArray(queries.map(({ audienceId }) => audienceId)),
        int8Array(queries.map(({ revision }) => revision)),
      ],
    },
  });
  return (JSON.parse(sizes) as readonly (number | null)[]).map((members) => members ?? undefined);
};
