import type { ClientBase, QueryConfig } from 'pg';
import { proposalRequestEvents, type ProposalsRequested } from '../domain/proposals/events.ts';
import { proposalRequestFold, proposalRequestStream } from '../domain/proposals/proposal-request.ts';
import {
  sellerDeliveryEvents,
  type DeliveredBuy,
  type SellerDeliveryEvent,
} from '../domain/reporting/events.ts';
import { REPORT_KEPT_DAYS } from '../domain/reporting/period.ts';
import {
  accountOfDelivery,
  SELLER_DELIVERY_DAY,
  type SellerDay,
} from '../domain/reporting/seller-delivery.ts';
import { SELLER_DELIVERY } from '../domain/reporting/work.ts';
import { resourceIdOf } from '../shared/aggregate/ids.ts';
import { categoryOf, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { int4Array, int8Array, textArray } from '../shared/postgres/binary-array.ts';
import { requestWork } from '../shared/work-list/request-work.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { UnprojectableEventError, type Projection } from './engine/projection.ts';
import { inPieces, sendInOrder } from './engine/send-in-order.ts';

/** A proposal request gives its sellers a reference, and lists them to be asked for the delivery under it. */
export const sellerDeliveryProjection: Projection = {
  name: 'seller-delivery',
  categories: [SELLER_DELIVERY_DAY, proposalRequestFold.category],
  tables: ['seller_delivery_days', 'seller_references'],
  work: [SELLER_DELIVERY],
  compared: {
    // The purge deletes older rows (`expired-rows.ts`); one day of margin.
    seller_delivery_days: { where: `day > now() - interval '${REPORT_KEPT_DAYS - 1} days'` },
  },
  apply: async (client, events, purpose) => {
    const asked = events.filter(({ type }) => type === 'ProposalsRequested').flatMap(referencesIn);
    const days = rowsIn(events.filter(({ stream }) => categoryOf(stream) === SELLER_DELIVERY_DAY));
    await sendInOrder(client, writes(asked, days));
    if (purpose !== 'rows') await listSellers(client, asked);
    return asked.length > 0 ? undefined : false;
  },
};

interface Reference extends Pick<ProposalsRequested, 'customerId' | 'advertiserId' | 'campaignId'> {
  readonly sellerId: number;
  readonly buyerRef: string;
  readonly account: ProposalsRequested['request']['account'];
  readonly askedAt: string;
}

const referencesIn = (event: RecordedEvent): readonly Reference[] => {
  const { customerId, executionId, advertiserId, campaignId, request, sellers } = decodeEvent(
    event,
    proposalRequestEvents,
  ).data as ProposalsRequested;
  if (proposalRequestStream(customerId, executionId) !== event.stream) {
    throw new UnprojectableEventError(event, 'the stream name does not match the request');
  }
  const { buyerRef, account } = request;
  const askedAt = event.metadata.occurredAt;
  return sellers
    .filter(({ skipped }) => skipped === undefined)
    .map(({ sellerId }) => ({ customerId, sellerId, buyerRef, account, advertiserId, campaignId, askedAt }));
};

interface DayRow extends SellerDay, DeliveredBuy {
  readonly customerId: number;
  readonly revision: number;
  readonly reportedAt: string;
}

/** The last values of each media buy and day. */
const rowsIn = (events: readonly RecordedEvent[]): readonly DayRow[] => {
  const rows = new Map<string, DayRow>();
  for (const event of events) {
    const { buys, ...at } = (decodeEvent(event, sellerDeliveryEvents) as SellerDeliveryEvent).data;
    const customerId = accountOfDelivery(event.stream, at);
    if (customerId === undefined) {
      throw new UnprojectableEventError(event, 'the stream name does not match the seller and the day');
    }
    const reportedAt = event.metadata.occurredAt;
    for (const buy of buys) {
      const row = { ...at, ...buy, customerId, revision: event.revision, reportedAt };
      rows.set(JSON.stringify([event.stream, buy.mediaBuyId]), row);
    }
  }
  return [...rows.values()];
};

function* writes(asked: readonly Reference[], days: readonly DayRow[]): Generator<QueryConfig> {
  for (const piece of inPieces(asked)) yield insertReferences(piece);
  for (const piece of inPieces(days)) yield writeDays(piece);
}

const insertReferences = (asked: readonly Reference[]): QueryConfig => ({
  name: 'seller-references-insert',
  text: `insert into seller_references (customer_id, seller_id, buyer_ref, advertiser_id, campaign_id, asked_at,
           brand_domain, operator)
         select customer_id, seller_id, buyer_ref, advertiser_id, campaign_id::uuid, asked_at::timestamptz,
           nullif(brand_domain, ''), nullif(operator, '')
         from unnest($1::bigint[], $2::int[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[])
           as n(customer_id, seller_id, buyer_ref, advertiser_id, campaign_id, asked_at, brand_domain, operator)
         on conflict do nothing`,
  values: [
    int8Array(asked.map(({ customerId }) => customerId)),
    int4Array(asked.map(({ sellerId }) => sellerId)),
    textArray(asked.map(({ buyerRef }) => buyerRef)),
    int4Array(asked.map(({ advertiserId }) => advertiserId)),
    textArray(asked.map(({ campaignId }) => campaignId)),
    textArray(asked.map(({ askedAt }) => askedAt)),
    textArray(asked.map(({ account }) => account?.brandDomain ?? '')),
    textArray(asked.map(({ account }) => account?.operator ?? '')),
  ],
});

const metrics = ['impressions', 'spend', 'clicks', 'views', 'completedViews'] as const;
/** Empty: null. */
const numberText = (value: number | undefined): string => (value === undefined ? '' : String(value));

const writeDays = (rows: readonly DayRow[]): QueryConfig => ({
  name: 'seller-delivery-days-write',
  text: `insert into seller_delivery_days as d (customer_id, seller_id, day, media_buy_id, revision, advertiser_id,
           campaign_id, currency, reported_at, impressions, spend, clicks, views, completed_views)
         select customer_id, seller_id, day::date, media_buy_id, revision, nullif(advertiser_id, '')::int,
           nullif(campaign_id, '')::uuid, currency, reported_at::timestamptz, nullif(impressions, '')::numeric,
           nullif(spend, '')::numeric, nullif(clicks, '')::numeric, nullif(views, '')::numeric,
           nullif(completed_views, '')::numeric
         from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[],
           $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])
           as n(customer_id, seller_id, day, media_buy_id, revision, advertiser_id, campaign_id, currency,
             reported_at, impressions, spend, clicks, views, completed_views)
         on conflict (customer_id, day, seller_id, media_buy_id) do update set
           revision = excluded.revision, advertiser_id = excluded.advertiser_id,
           campaign_id = excluded.campaign_id, currency = excluded.currency, reported_at = excluded.reported_at,
           impressions = excluded.impressions, spend = excluded.spend, clicks = excluded.clicks,
           views = excluded.views, completed_views = excluded.completed_views
           where d.revision < excluded.revision`,
  values: [
    int8Array(rows.map(({ customerId }) => customerId)),
    int4Array(rows.map(({ sellerId }) => sellerId)),
    textArray(rows.map(({ day }) => day)),
    textArray(rows.map(({ mediaBuyId }) => mediaBuyId)),
    int8Array(rows.map(({ revision }) => revision)),
    textArray(rows.map(({ campaign }) => numberText(campaign?.advertiserId))),
    textArray(rows.map(({ campaign }) => campaign?.campaignId ?? '')),
    textArray(rows.map(({ currency }) => currency)),
    textArray(rows.map(({ reportedAt }) => reportedAt)),
    ...metrics.map((metric) => textArray(rows.map((row) => numberText(row[metric])))),
  ],
});

/** A later proposal request makes an entry that had ended due again. */
const listSellers = async (client: ClientBase, asked: readonly Reference[]): Promise<void> => {
  const entries = asked.map(({ customerId, sellerId, askedAt }) => ({
    customerId,
    key: resourceIdOf(SELLER_DELIVERY, customerId, sellerId, ''),
    revision: Date.parse(askedAt),
    data: { sellerId, askedAt },
  }));
  // One statement cannot change an entry twice: the last request of each seller counts.
  const latest = new Map(entries.map((entry) => [`${entry.customerId} ${entry.key}`, entry]));
  await requestWork(client, SELLER_DELIVERY, [...latest.values()]);
};
