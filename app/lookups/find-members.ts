import type { Pool } from 'pg';
import type { FindMembers } from '../../command/workers/syndication/audience-delivery.ts';

/** @param pool not bound to an account */
export const findAudienceMembers =
  (pool: Pick<Pool, 'query'>): FindMembers =>
  async ({ customerId, audienceId, afterRevision, afterId, revision, withRemovals, rowsMax }) => {
    const { rows } = await pool.query<{ reached: string | null; members: string }>({
      name: `audience-members-page-${withRemovals ? 'since' : 'all'}`,
      text: pageSql(withRemovals),
      values: [customerId, audienceId, afterRevision, afterId, revision, rowsMax],
    });
    const [{ reached, members } = { reached: null, members: '[]' }] = rows;
    return { reached: Number(reached ?? -1), members };
  };

const pageSql = (withRemovals: boolean): string => {
  const from = (table: string, gone: boolean): string =>
    `(select external_id, hashed_email, hashed_phone, uids, revision, ${gone} as gone from ${table}
      where customer_id = $1 and audience_id = $2
        and (revision, external_id) > ($3::bigint, $4::text) and revision <= $5
      order by revision, external_id limit $6)`;
  const removals = withRemovals ? `union all ${from('audience_removals', true)}` : '';
  return `select (select revision from audiences where customer_id = $1 and id = $2) as reached,
            (select coalesce(json_agg(json_build_array(p.external_id, encode(p.hashed_email, 'hex'),
                encode(p.hashed_phone, 'hex'), p.uids, p.revision, p.gone) order by p.revision, p.external_id), '[]')::text
             from (select * from (${from('audience_members', false)} ${removals}) u
                   order by revision, external_id limit $6) p) as members`;
};
