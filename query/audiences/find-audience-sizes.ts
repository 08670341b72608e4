import { int8Array, uuidArray } from '../../shared/postgres/binary-array.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/account-mark.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

/** An audience behind one of its events. */
export interface AudienceAt {
  readonly audienceId: string;
  /** Of the event, from 0 as in the log. */
  readonly revision: number;
}

const projection = 'audiences';

/**
 * How many members audiences had behind events of theirs, in their order; undefined where no projector has written that
 * down: one of before `audience_sizes` had the event. Of an audience's last event its row says it, too.
 * @throws ReadModelBehindError
 */
export const findAudienceSizes = async (
  { database, progress }: ResourceReads,
  customerId: number,
  asked: readonly AudienceAt[],
): Promise<readonly (number | undefined)[]> => {
  if (asked.length === 0) return [];
  const { sizes } = await consistentRead<Freshness & { readonly sizes: string }>({
    pool: boundTo(database, customerId),
    projection,
    progress,
    query: {
      name: 'find-audience-sizes',
      text: `select ${freshnessColumns('f')}, found.sizes
             from ${freshnessSql('$1', '$2')} f, lateral (
               select json_agg(coalesce(s.members, a.members) order by asked.n)::text as sizes
               from unnest($3::uuid[], $4::bigint[]) with ordinality as asked(audience_id, revision, n)
               left join audience_sizes s on s.customer_id = $1 and s.audience_id = asked.audience_id
                 and s.revision = asked.revision
               left join audiences a on s.members is null and a.customer_id = $1 and a.id = asked.audience_id
                 and a.revision = asked.revision
             ) found`,
      values: [
        customerId,
        projection,
        uuidArray(asked.map(({ audienceId }) => audienceId)),
        int8Array(asked.map(({ revision }) => revision)),
      ],
    },
  });
  return (JSON.parse(sizes) as readonly (number | null)[]).map((members) => members ?? undefined);
};
