import type { Pool } from 'pg';
import { workKinds } from '../../domain/work-kinds.ts';

/** Up to 1,000 creatives each. */
const CAMPAIGNS_MAX = 5;
const CREATIVES_MAX = 1_000;

/** Position of the read models that relate creatives to campaigns. */
const REACHED = `coalesce((select case when count(*) = 2 then min(position collate "C") end
  from projection_checkpoints where name in ('campaigns', 'creatives')), '-') collate "C"`;

/** They are complete for accounts without parked streams. */
const isComplete = (customerId: string): string => `not exists (select from parked_streams p
  where p.projection in ('campaigns', 'creatives') and p.customer_id = ${customerId})`;

/** An entry for several occasions is named after the last, and lists all since the first. */
const TOGETHER = `revision = greatest(w.revision, excluded.revision), asked_at = excluded.asked_at,
  data = jsonb_build_object('since', least(w.data ->> 'since' collate "C", excluded.data ->> 'since' collate "C")),
  due_at = greatest(now(), w.not_before)`;

/**
 * Turns the occasions of `projections/sellers.ts` into submissions, once the other read models have reached them.
 * Question and change of the work list are one statement: a rebuild between them would drop occasions.
 * @param pool not bound to an account
 */
export const listLaunchedCreatives = async (pool: Pool): Promise<void> => {
  await listCreatives(pool);
  await listLaunched(pool);
};

/**
 * Replaces a launched campaign by its creatives. All creatives attached before are in the rows by then; each later
 * one is listed by its own event.
 */
const listCreatives = async (pool: Pool): Promise<void> => {
  await pool.query({
    name: 'work-launched-campaigns',
    text: `with due as (
             select customer_id, key, revision, data from work_list
             where kind = $1 and due_at <= now() and leased_until is null and revision <= ${REACHED}
               and ${isComplete('work_list.customer_id')}
             order by due_at limit $3 for update skip locked
           ), listed as (
             insert into work_list as w (kind, customer_id, key, revision, data)
             select $2, d.customer_id, l.creative_id, max(d.revision),
               jsonb_build_object('since', min(d.data ->> 'since' collate "C"))
             from due d join creative_campaigns l
               on l.customer_id = d.customer_id and l.campaign_id = d.key and not l.archived
             group by d.customer_id, l.creative_id order by d.customer_id, l.creative_id
             on conflict (kind, customer_id, key) do update set ${TOGETHER}
           )
           delete from work_list w using due
           where w.kind = $1 and w.customer_id = due.customer_id and w.key = due.key`,
    values: [workKinds.launchedCampaign, workKinds.changedCreative, CAMPAIGNS_MAX],
  });
};

/**
 * Most creatives are created before their campaign runs, so they are dropped in bulk. While a worker processes an
 * earlier submission of a creative, which may or may not see the occasion, the occasion waits and is examined again.
 */
const listLaunched = async (pool: Pool): Promise<void> => {
  await pool.query({
    name: 'work-changed-creatives',
    text: `with due as (
             select customer_id, key, revision, data,
               ${isComplete('work_list.customer_id')} and not exists (
                 select from creative_campaigns l join campaigns c
                   on c.customer_id = l.customer_id and c.id = l.campaign_id and c.phase = 'active'
                 where l.customer_id = work_list.customer_id and l.creative_id = work_list.key and not l.archived
               ) as is_idle
             from work_list
             where kind = $1 and due_at <= now() and leased_until is null and revision <= ${REACHED}
             order by due_at limit $3 for update skip locked
           ), listed as (
             insert into work_list as w (kind, customer_id, key, revision, data)
             select $2, customer_id, key, revision, data from due where not is_idle order by customer_id, key
             on conflict (kind, customer_id, key) do update set ${TOGETHER} where w.leased_until is null
             returning w.customer_id, w.key
           )
           delete from work_list w using due
           where w.kind = $1 and w.customer_id = due.customer_id and w.key = due.key
             and (due.is_idle or exists (select from listed where (listed.customer_id, listed.key) = (w.customer_id, w.key)))`,
    values: [workKinds.changedCreative, workKinds.submission, CREATIVES_MAX],
  });
};
