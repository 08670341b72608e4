import { shownCampaignId } from '../../domain/campaigns/resource.ts';
import {
  deliveryDimensions,
  sellerMetrics,
  type BaseMetric,
  type DeliveryDimension,
  type DeliveryFact,
  type Measure,
} from '../../domain/reporting/delivery-report.ts';
import { shownPeriod, type Period } from '../../domain/reporting/period.ts';
import { isoTimestampSql, statementName } from '../../shared/postgres/build-statement.ts';
import { boundTo } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfAllSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';

/** Sums that one report is made of. */
export const FACTS_MAX = 10_000;

export interface DeliveryFilters {
  readonly advertiserId?: number | undefined;
  /** UUID. */
  readonly campaignId?: string | undefined;
  readonly mediaBuyId?: string | undefined;
}

interface Fact extends Partial<Record<BaseMetric, readonly [millionths: string, count: number]>> {
  readonly dimensions: Readonly<Partial<Record<DeliveryDimension, string | number | null>>>;
  readonly unassigned: boolean;
  readonly currency: string | null;
  readonly through: string;
}

/**
 * Grouped by the dimensions and the currency.
 * @returns undefined if there are more than FACTS_MAX
 * @throws ReadModelBehindError
 */
export const findDelivery = async (
  { database, progress }: ResourceReads,
  customerId: number,
  period: Period,
  filters: DeliveryFilters,
  dimensions: readonly DeliveryDimension[],
): Promise<readonly DeliveryFact[] | undefined> => {
  const { startDate, endDate } = shownPeriod(period);
  const { advertiserId = null, campaignId = null, mediaBuyId = null } = filters;
  const wanted = deliveryDimensions.filter((name) => dimensions.includes(name));
  const { facts } = await consistentRead<Freshness & { readonly facts: string }>({
    pool: boundTo(database, customerId),
    projection: 'conversions',
    progress,
    query: {
      name: statementName('delivery-report', wanted.join(',')),
      text: `select ${freshnessColumns('f')}, coalesce(found.facts, '[]') as facts
             from ${freshnessOfAllSql('$1', readModels, 'conversion_positions')} f, lateral (
               select json_agg(g.fact)::text as facts from (
                 ${conversionsSql(wanted)} union all ${sellersSql(wanted)} limit ${FACTS_MAX + 1}
               ) g
             ) found`,
      values: [customerId, startDate, endDate, advertiserId, campaignId, mediaBuyId],
    },
  });
  const found = JSON.parse(facts) as readonly Fact[];
  return found.length > FACTS_MAX ? undefined : found.map(deliveryFact);
};

const readModels = [`'conversions'`, `'seller-delivery'`, `'event-sources'`];

type Columns = Readonly<Partial<Record<DeliveryDimension, string>>>;

/** @returns SQL of an object with the dimensions that the table has */
const objectSql = (columns: Columns, wanted: readonly DeliveryDimension[]): string =>
  `json_build_object(${wanted
    .flatMap((name) => (columns[name] === undefined ? [] : [`'${name}', ${columns[name]}`]))
    .join(', ')})`;

const groupSql = (columns: Columns, wanted: readonly DeliveryDimension[], ...more: readonly string[]) =>
  `group by ${[...wanted.flatMap((name) => columns[name] ?? []), ...more].join(', ')}`;

// Rounded one by one, so that the sum does not depend on the grouping.
const measureSql = (column: string): string => `case when count(${column}) > 0 then
  json_build_array(trunc(sum(round(${column}, 6)) * 1000000)::text, count(${column})) end`;

const ofConversions: Columns = {
  date: `(h.hour at time zone 'UTC')::date`,
  advertiser: 'h.advertiser_id',
  event_source: 'coalesce(s.key, h.source_id::text)',
};

const conversionsSql = (wanted: readonly DeliveryDimension[]): string => `
  select json_build_object(
    'dimensions', ${objectSql(ofConversions, wanted)}, 'unassigned', false, 'currency', nullif(h.currency, ''),
    'through', ${isoTimestampSql(`least(max(h.hour) + interval '1 hour', date_trunc('milliseconds', now()))`)},
    'conversions', ${measureSql('h.event_count::numeric')},
    'conversion_value', case when h.currency <> '' then ${measureSql('h.value_sum')} end) as fact
  from conversion_hours h
  left join event_sources s on s.customer_id = h.customer_id and s.id = h.source_id
  where h.customer_id = $1 and h.hour >= $2::date::timestamp at time zone 'UTC'
    and h.hour < ($3::date + 1)::timestamp at time zone 'UTC' and ($4::int is null or h.advertiser_id = $4)
    and $5::uuid is null and $6::text is null
  ${groupSql(ofConversions, wanted, 'h.currency')}`;

const ofSellers: Columns = {
  date: 'd.day',
  advertiser: 'd.advertiser_id',
  campaign: 'd.campaign_id',
  seller: 'd.seller_id',
  media_buy: 'd.media_buy_id',
};

const sellersSql = (wanted: readonly DeliveryDimension[]): string => {
  // Only with these dimensions a row is either assigned or not.
  const isSeparate = wanted.some(
    (name) => name === 'campaign' || name === 'advertiser' || name === 'media_buy',
  );
  const unassigned = isSeparate ? 'd.campaign_id is null' : 'false';
  return `
  select json_build_object(
    'dimensions', ${objectSql(ofSellers, wanted)}, 'unassigned', ${unassigned}, 'currency', d.currency,
    'through', ${isoTimestampSql('max(d.reported_at)')},
    ${sellerMetrics.map((metric) => `'${metric}', ${measureSql(`d.${metric}`)}`).join(', ')}) as fact
  from seller_delivery_days d
  where d.customer_id = $1 and d.day between $2::date and $3::date
    and ($4::int is null or d.advertiser_id = $4) and ($5::uuid is null or d.campaign_id = $5)
    and ($6::text is null or d.media_buy_id = $6)
  ${groupSql(ofSellers, wanted, 'd.currency', ...(isSeparate ? [unassigned] : []))}`;
};

const deliveryFact = ({ dimensions, unassigned, currency, through, ...measures }: Fact): DeliveryFact => ({
  dimensions: Object.fromEntries(
    Object.entries(dimensions).flatMap(([name, value]) =>
      value === null ? [] : [[name, name === 'campaign' ? shownCampaignId(String(value)) : value]],
    ),
  ),
  isUnassigned: unassigned,
  currency,
  measures: Object.fromEntries(
    Object.entries(measures).flatMap(([metric, sum]) => (sum === null ? [] : [[metric, measure(sum)]])),
  ),
  dataThrough: through,
});

const measure = ([millionths, count]: readonly [string, number]): Measure => ({
  millionths: BigInt(millionths),
  count,
});
