import { z } from 'zod';
import type { SellerRequest } from '../../../domain/proposals/events.ts';
import type { DeliveredBuy } from '../../../domain/reporting/events.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import type { ListedBuys } from './list-media-buys.ts';
import { ReferringBuy, referenceOf } from './media-buy-reference.ts';

export interface SellerReference {
  /** That a proposal request gave the seller. */
  readonly buyerRef: string;
  readonly campaign: NonNullable<DeliveredBuy['campaign']>;
  /** That the same request named to the seller. */
  readonly account?: SellerAccount;
}

export type SellerAccount = NonNullable<SellerRequest['account']>;

export interface ReportOf {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  readonly references: readonly SellerReference[];
  /** Media buys without a reference may be another account's, unless no other one has asked this seller. */
  readonly isOnlyAccount: boolean;
  /** Their references count for reports that repeat none. */
  readonly listed: ListedBuys | undefined;
}

/** Limit for an event's data: the media buys after it are left out. */
const BYTES_MAX = 200_000;
/** Well within the numbers that are exact in JSON, also in millionths. */
const VALUE_MAX = 1_000_000_000_000;

const Value = z
  .number()
  .min(0)
  .max(VALUE_MAX)
  .nullish()
  .transform((value) => (typeof value === 'number' ? Math.round(value * 1_000_000) / 1_000_000 : undefined));

const metrics = {
  impressions: Value,
  spend: Value,
  clicks: Value,
  views: Value,
  completed_views: Value,
};
const Metrics = z.object(metrics);

const Currency = z.string().regex(/^[A-Z]{3}$/);
const Instant = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const MediaBuy = ReferringBuy.extend({
  currency: Currency.nullish(),
  totals: z.unknown().optional(),
  daily_breakdown: z.array(z.unknown()).nullish(),
});
type MediaBuy = z.output<typeof MediaBuy>;

const Answer = z.object({
  currency: Currency,
  reporting_period: z.object({ start: Instant, end: Instant }).optional().catch(undefined),
  media_buy_deliveries: z.array(z.unknown()),
});
type Answer = z.output<typeof Answer>;

const Dated = z.object({ ...metrics, date: z.string() });

export type ReadReport = { readonly buys: readonly DeliveredBuy[] } | { readonly problem: string };

/**
 * Media buys are checked one by one: an invalid one spoils no other. Those with a reference that this account did not
 * give the seller are another account's, or invented, and are left out.
 */
export const readReport = (data: JsonObject | undefined, of: ReportOf): ReadReport => {
  const parsed = Answer.safeParse(data);
  if (!parsed.success) return { problem: 'The report of the seller has no media buys or no currency.' };
  const campaigns = new Map(of.references.map(({ buyerRef, campaign }) => [buyerRef, campaign]));
  const buys = new Map<string, DeliveredBuy>();
  let bytes = 0;
  for (const item of parsed.data.media_buy_deliveries) {
    const { data: buy } = MediaBuy.safeParse(item);
    if (buy === undefined || buys.has(buy.media_buy_id)) continue;
    const reference = referenceOf(buy) ?? of.listed?.get(buy.media_buy_id);
    const campaign = reference === undefined ? undefined : campaigns.get(reference);
    if (reference === undefined ? !of.isOnlyAccount : campaign === undefined) continue;
    const values = valuesOf(parsed.data, buy, of.day);
    if (values === undefined) continue;
    const delivered = {
      mediaBuyId: buy.media_buy_id,
      ...(campaign && { campaign }),
      currency: buy.currency ?? parsed.data.currency,
      ...values,
    };
    bytes += Buffer.byteLength(JSON.stringify(delivered)) + 1;
    if (bytes > BYTES_MAX) break;
    buys.set(delivered.mediaBuyId, delivered);
  }
  return { buys: [...buys.values()] };
};

/** Totals count only with a period within the day: many sellers report the whole lifetime regardless of the dates. */
const valuesOf = (answer: Answer, buy: MediaBuy, day: string) => {
  const broken = (buy.daily_breakdown ?? []).flatMap((one) => Dated.safeParse(one).data ?? []);
  const ofDay = isDay(answer.reporting_period, day)
    ? Metrics.safeParse(buy.totals).data
    : broken.find(({ date }) => date === day);
  if (ofDay === undefined) return undefined;
  const { impressions, spend, clicks, views, completed_views: completedViews } = ofDay;
  const shown = Object.entries({ impressions, spend, clicks, views, completedViews }).filter(
    ([, value]) => value !== undefined,
  );
  return shown.length === 0 ? undefined : (Object.fromEntries(shown) as Partial<Record<string, number>>);
};

const DAY_MS = 86_400_000;

/** A media buy may start during the day. Sellers end a day at its last second, at the next midnight, or now. */
const isDay = (period: Answer['reporting_period'], day: string): boolean => {
  if (period === undefined) return false;
  const startMs = Date.parse(`${day}T00:00:00Z`);
  const endMs = startMs + DAY_MS;
  return period.start >= startMs && period.start < endMs && period.end >= period.start && period.end <= endMs;
};
