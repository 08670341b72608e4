import { createHash } from 'node:crypto';
import { z } from 'zod';
import { campaignIdOf } from '../../domain/campaigns/resource.ts';
import { dayOfMs, readDay } from '../../domain/reporting/day.ts';
import {
  deliveryDimensions,
  deliveryMetrics,
  deliveryRows,
  deliveryTotals,
  type DeliveryDimension,
  type DeliveryMetric,
  type DeliveryRow,
} from '../../domain/reporting/delivery-report.ts';
import { periodOf, shownPeriod, type Period } from '../../domain/reporting/period.ts';
import { DELIVERY_REPORT, DeliveryReport } from '../../domain/reporting/resource.ts';
import { boundedText, readText } from '../../domain/values.ts';
import type { Clock } from '../../shared/async/clock.ts';
import { invalid } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { cursorLimitOf, cursorParameters, digitStringId, queryBoolean } from '../../shared/http/schemas.ts';
import type { ListCursors } from '../resources/list-cursor.ts';
import { refuseIfBehind } from '../resources/refuse-if-behind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import { FACTS_MAX, findDelivery } from './find-delivery.ts';

export interface ReportingReads extends ResourceReads {
  readonly cursors: ListCursors;
  readonly clock: Clock;
}

const LIMIT_MAX = 100;

/** @returns names separated by commas, each once, in the order of `options` */
const namesAmong = <Name extends string>(options: readonly Name[], description: string) =>
  readText<readonly Name[]>(
    (text) => {
      const names = text.split(',');
      const isKnown = names.every((name) => (options as readonly string[]).includes(name));
      return isKnown
        ? options.filter((name) => names.includes(name))
        : `must be some of ${options.join(', ')}, separated by commas`;
    },
    { description },
  );

const day = (description: string) => readText(readDay, { format: 'date', description });

const Query = z.object({
  report: z.literal(DELIVERY_REPORT).optional(),
  advertiserId: digitStringId('advertiser').optional(),
  campaignId: boundedText(1, 256).optional(),
  mediaBuyId: boundedText(1, 256).optional().meta({ description: "The seller's id of a media buy." }),
  startDate: day('UTC, included. Default: 6 days before the end.').optional(),
  endDate: day('UTC, included, at most 89 days after the start. Default: today.').optional(),
  lifetime: queryBoolean('true: all that is kept, and no dates.').optional(),
  metrics: namesAmong(
    deliveryMetrics,
    `Separated by commas. Default: all of ${deliveryMetrics.join(', ')}.`,
  ).optional(),
  dimensions: namesAmong(
    deliveryDimensions,
    `What a row is for, separated by commas: some of ${deliveryDimensions.join(', ')}. Default: campaign.`,
  ).optional(),
  ...cursorParameters(LIMIT_MAX),
});
type Query = z.output<typeof Query>;

export const reportingReadRoutes = (reads: ReportingReads): readonly Route[] => [
  route({
    method: 'get',
    path: '/api/v2/buyer/reporting/delivery',
    operationId: 'getDelivery',
    summary: 'Delivery that sellers report, and conversions of the event sources, by the asked dimensions',
    tag: 'Reporting',
    access: 'exchange:read',
    query: Query,
    responses: { 200: { description: 'One page, and totals of all pages', data: DeliveryReport } },
    handle: async ({ query, request }) => ({
      status: 200,
      data: await report(reads, request.principal.customerId, query),
    }),
  }),
];

const report = async (reads: ReportingReads, customerId: number, query: Query): Promise<DeliveryReport> => {
  const { metrics = deliveryMetrics, dimensions = ['campaign'] } = query;
  const list = listOf(query);
  const place =
    query.cursor === undefined ? undefined : await reads.cursors.read(customerId, list, query.cursor);
  const period = place === undefined ? askedPeriod(query, reads.clock) : periodIn(place.at);
  const facts = await factsOf(reads, customerId, period, query, dimensions);
  const rows = deliveryRows(facts, metrics);
  const start = place === undefined ? 0 : after(rows, place.at, place.id);
  const limit = cursorLimitOf(query);
  const page = rows.slice(start, start + limit);
  const next = start + page.length;
  const last = page.at(-1);
  const nextCursor =
    last !== undefined && next < rows.length
      ? await reads.cursors.of(customerId, list, {
          at: [period.start, period.end, next].join(' '),
          id: nameOf(last),
        })
      : undefined;
  return {
    report: DELIVERY_REPORT,
    query: shownQuery(query, period, metrics, dimensions),
    period: shownPeriod(period),
    rows: [...page],
    totals: deliveryTotals(facts, metrics, rows.length),
    page: {
      limit,
      returned: page.length,
      total: rows.length,
      truncated: false,
      ...(nextCursor !== undefined && { nextCursor }),
    },
  };
};

/** A cursor belongs to the parameters as given: the default range moves at midnight, and the cursor names it. */
const listOf = ({ cursor: _cursor, limit: _limit, ...asked }: Query): string => {
  const given = Object.entries(asked).sort(([a], [b]) => (a < b ? -1 : 1));
  return `delivery ${createHash('sha256').update(JSON.stringify(given)).digest('base64url')}`;
};

const askedPeriod = (query: Query, clock: Clock): Period => {
  const period = periodOf(query, dayOfMs(clock.now()));
  if (typeof period === 'string') throw invalid(period, 'range');
  return period;
};

const periodIn = (at: string): Period => {
  const [start = 0, end = 0] = at.split(' ').map(Number);
  return { start, end };
};

const NO_CAMPAIGN = '00000000-0000-0000-0000-000000000000';

const factsOf = async (
  reads: ReportingReads,
  customerId: number,
  period: Period,
  { advertiserId, campaignId, mediaBuyId }: Query,
  dimensions: readonly DeliveryDimension[],
) => {
  const filters = {
    advertiserId,
    campaignId: campaignId === undefined ? undefined : (campaignIdOf(campaignId) ?? NO_CAMPAIGN),
    mediaBuyId,
  };
  const facts = await findDelivery(reads, customerId, period, filters, dimensions).catch(refuseIfBehind);
  if (facts !== undefined) return facts;
  throw invalid(
    `The report is made of more than ${FACTS_MAX} sums. Ask for fewer dimensions or a shorter range, or filter.`,
    'dimensions',
  );
};

const nameOf = ({ dimensions, unassigned, currency }: DeliveryRow): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        deliveryDimensions.map((name) => dimensions[name] ?? null),
        unassigned ?? false,
        currency,
      ]),
    )
    .digest('base64url');

/** Rows may have been added before the last one. If it is gone, the number of rows decides. */
const after = (rows: readonly DeliveryRow[], at: string, name: string): number => {
  const found = rows.findIndex((row) => nameOf(row) === name);
  return found >= 0 ? found + 1 : Number(at.split(' ')[2]);
};

const shownQuery = (
  { advertiserId, campaignId, mediaBuyId, lifetime }: Query,
  period: Period,
  metrics: readonly DeliveryMetric[],
  dimensions: readonly DeliveryDimension[],
): DeliveryReport['query'] => ({
  report: DELIVERY_REPORT,
  filters: {
    ...(advertiserId !== undefined && { advertiserId: String(advertiserId) }),
    ...(campaignId !== undefined && { campaignId }),
    ...(mediaBuyId !== undefined && { mediaBuyId }),
  },
  range: lifetime === true ? { lifetime: true } : shownPeriod(period),
  metrics: [...metrics],
  dimensions: [...dimensions],
});
