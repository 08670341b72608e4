import type { Pool } from 'pg';
import type { FindSellerReferences } from '../../command/workers/reporting/ask-for-delivery.ts';
import { REPORT_KEPT_DAYS } from '../../domain/reporting/period.ts';

/** An account makes few proposal requests: older ones than this many of one seller are over. */
const REFERENCES_MAX = 5_000;

/** @param pool not bound to an account: it also sees whether other accounts have asked the seller */
export const findSellerReferences =
  (pool: Pick<Pool, 'query'>): FindSellerReferences =>
  async (customerId, sellerId) => {
    const { rows } = await pool.query<{ references: string; shared: boolean }>({
      name: 'find-seller-references',
      text: `select coalesce(json_agg(json_strip_nulls(json_build_object('buyerRef', r.buyer_ref,
                 'campaign', json_build_object('advertiserId', r.advertiser_id, 'campaignId', r.campaign_id),
                 'account', case when r.brand_domain is not null then json_build_object(
                   'brandDomain', r.brand_domain, 'operator', r.operator) end)))::text, '[]') as references,
               exists (select from seller_references o where o.seller_id = $2 and o.customer_id < $1)
               or exists (select from seller_references o where o.seller_id = $2 and o.customer_id > $1) as shared
             from (select * from seller_references
                   where customer_id = $1 and seller_id = $2
                     and asked_at > now() - interval '${REPORT_KEPT_DAYS} days'
                   order by asked_at desc limit ${REFERENCES_MAX}) r`,
      values: [customerId, sellerId],
    });
    const [row] = rows;
    if (row === undefined) throw new Error('an aggregate returns one row');
    const { references, shared } = row;
    return {
      references: JSON.parse(references) as Awaited<ReturnType<FindSellerReferences>>['references'],
      isOnlyAccount: !shared,
    };
  };
