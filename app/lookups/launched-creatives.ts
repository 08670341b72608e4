import type { LaunchSql } from '../../command/workers/sellers/list-launched.ts';

/** Text, because the worker asks and changes its list in one statement. */
export const launchedCreatives: LaunchSql = {
  reached: `coalesce((select case when count(*) = 2 then min(position collate "C") end
    from projection_checkpoints where name in ('campaigns', 'creatives')), '-') collate "C"`,
  /** An account with parked streams lacks rows. */
  isComplete: (customerId) => `not exists (select from parked_streams p
    where p.projection in ('campaigns', 'creatives') and p.customer_id = ${customerId})`,
  attached: `(select customer_id, campaign_id, creative_id from creative_campaigns where not archived)`,
  isLaunched: (customerId, creativeId) => `exists (
    select from creative_campaigns l join campaigns c
      on c.customer_id = l.customer_id and c.id = l.campaign_id and c.phase = 'active'
    where l.customer_id = ${customerId} and l.creative_id = ${creativeId} and not l.archived)`,
};
