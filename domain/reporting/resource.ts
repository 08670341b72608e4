import { z } from 'zod';
import { Timestamp } from '../values.ts';
import { deliveryDimensions, deliveryMetrics } from './delivery-report.ts';

export const DELIVERY_REPORT = 'campaign_delivery';

const Metrics = z
  .strictObject(
    Object.fromEntries(deliveryMetrics.map((metric) => [metric, z.number().optional()])) as Record<
      (typeof deliveryMetrics)[number],
      z.ZodOptional<z.ZodNumber>
    >,
  )
  .meta({ description: 'A metric without any report is absent, never 0.' });

const Currency = z.string().nullable();
const Period = z.strictObject({ startDate: z.iso.date(), endDate: z.iso.date() });

const Row = z.strictObject({
  dimensions: z
    .strictObject({
      date: z.iso.date().optional(),
      advertiser: z.int().optional(),
      campaign: z.string().optional(),
      seller: z.int().optional(),
      media_buy: z.string().optional(),
      event_source: z.string().optional(),
    })
    .meta({
      description:
        'Those that were asked for. One is absent where it does not apply: conversions have no campaign, media buys no event source.',
    }),
  unassigned: z.literal(true).optional().meta({
    description:
      'Media buys that carry no reference of a proposal request: they have no campaign and no advertiser.',
  }),
  metrics: Metrics,
  currency: Currency.meta({ description: 'null: the row has no amount of money.' }),
  dataThrough: Timestamp.meta({
    description: 'When the seller last reported a change, or the end of the last hour with a conversion.',
  }),
});

export const DeliveryReport = z
  .strictObject({
    report: z.literal(DELIVERY_REPORT),
    query: z.strictObject({
      report: z.literal(DELIVERY_REPORT),
      filters: z.strictObject({
        advertiserId: z.string().optional(),
        campaignId: z.string().optional(),
        mediaBuyId: z.string().optional(),
      }),
      range: z.union([Period, z.strictObject({ lifetime: z.literal(true) })]),
      metrics: z.array(z.enum(deliveryMetrics)),
      dimensions: z.array(z.enum(deliveryDimensions)),
    }),
    period: Period.meta({ description: 'UTC days, both included. With `lifetime`: all that is kept.' }),
    rows: z.array(Row),
    totals: z.strictObject({ rowsIncluded: z.int(), metrics: Metrics, currency: Currency }).meta({
      description:
        'Sums of all pages. With several currencies `currency` is null, and there are no amounts of money.',
    }),
    page: z.strictObject({
      limit: z.int(),
      returned: z.int(),
      total: z.int(),
      truncated: z.boolean(),
      nextCursor: z.string().optional(),
    }),
  })
  .meta({ id: 'DeliveryReport' });
export type DeliveryReport = z.infer<typeof DeliveryReport>;
