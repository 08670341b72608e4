import type { Pool } from 'pg';
import { CHANGED_CREATIVE, LAUNCHED_CAMPAIGN, SUBMISSION } from '../../../domain/creatives/work.ts';

/** SQL on the read models that relate creatives to campaigns. An account is given as the name of a column. */
export interface LaunchSql {
  /** Position that the read models have reached. */
  readonly reached: string;
  /** Condition: the rows of the account are complete. */
  readonly isComplete: (customerId: string) => string;
  /** Table expression: `customer_id`, `campaign_id`, `creative_id` of all creatives that are not archived. */
  readonly attached: string;
  /** Condition: a campaign of the creative is active. */
  readonly isLaunched: (customerId: string, creativeId: string) => string;
}

/** Up to 1,000 creatives each. */
const CAMPAIGNS_MAX = 5;
const CREATIVES_MAX = 1_000;

/** An entry for several occasions is named after the last, and lists all since the first. */
const TOGETHER = `revision = greatest(w.revision, excluded.revision), asked_at = excluded.asked_at,
  data = jsonb_build_object('since', least(w.data ->> 'since' collate "C", excluded.data ->> 'since' collate "C")),
  due_at = greatest(now(), w.not_before)`;

/** Turns occasions into submissions in one statement: between two, a rebuild would drop occasions. */
export const listLaunchedCreatives = async (pool: Pool, sql: LaunchSql): Promise<void> => {
  await listCreatives(pool, sql);
  await listLaunched(pool, sql);
};

/** All creatives attached before are in the rows by then; each later one is listed by its own event. */
const listCreatives = async (pool: Pool, sql: LaunchSql): Promise<void> => {
  await pool.query({
    name: 'work-launched-campaigns',
    text: `with due as (
             select customer_id, key, revision, data from work_list
             where kind = $1 and due_at <= now() and leased_until is null and revision <= ${sql.reached}
               and ${sql.isComplete('work_list.customer_id')}
             order by due_at limit $3 for update skip locked
           ), listed as (
             insert into work_list as w (kind, customer_id, key, revision, data)
             select $2, d.customer_id, l.creative_id, max(d.revision),
               jsonb_build_object('since', min(d.data ->> 'since' collate "C"))
             from due d join ${sql.attached} l on l.customer_id = d.customer_id and l.campaign_id = d.key
             group by d.customer_id, l.creative_id order by d.customer_id, l.creative_id
             on conflict (kind, customer_id, key) do update set ${TOGETHER}
           )
           delete from work_list w using due
           where w.kind = $1 and w.customer_id = due.customer_id and w.key = due.key`,
    values: [LAUNCHED_CAMPAIGN, CHANGED_CREATIVE, CAMPAIGNS_MAX],
  });
};

/** Most creatives precede their campaign: dropped in bulk. An occasion waits for a running submission. */
const listLaunched = async (pool: Pool, sql: LaunchSql): Promise<void> => {
  await pool.query({
    name: 'work-changed-creatives',
    text: `with due as (
             select customer_id, key, revision, data,
               ${sql.isComplete('work_list.customer_id')} and not ${sql.isLaunched('work_list.customer_id', 'work_list.key')} as is_idle
             from work_list
             where kind = $1 and due_at <= now() and leased_until is null and revision <= ${sql.reached}
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
    values: [CHANGED_CREATIVE, SUBMISSION, CREATIVES_MAX],
  });
};
