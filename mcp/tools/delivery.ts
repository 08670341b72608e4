import { z } from 'zod';
import { deliveryDimensions, deliveryMetrics } from '../../domain/reporting/delivery-report.ts';
import { DELIVERY_REPORT, type DeliveryReport } from '../../domain/reporting/resource.ts';
import { fitPage } from '../fit-page.ts';
import { jsonSchemaOf, shownAs } from '../json-schema.ts';
import { dataOf, namingArguments, type Operations } from '../operations.ts';
import { pageArguments } from '../page.ts';
import { reads, tool, type Tool } from '../tool.ts';

const id = z.union([z.string().min(1).max(256), z.int()]);

/** Specification, `get_delivery`: up to 90 days, or the lifetime. */
export const getDeliveryTool = (operations: Operations): Tool => {
  const report = dataOf(operations.of('getDelivery'));
  if (!(report instanceof z.ZodObject)) throw new Error('a report has no members');
  return tool({
    name: 'get_delivery',
    title: 'What campaigns delivered',
    description:
      'Impressions, spend and so on that sellers report, and conversions of the event sources of the account, by day, ' +
      'advertiser, campaign, seller, media buy or event source. At most 90 days, or {"lifetime": true}; the last 7 days ' +
      'unless said. A metric without any report is absent: it is not 0. Each row has one currency: never add up ' +
      'amounts of different currencies. Returns {rows, totals, period, page}. Example: {"filters":{"campaignId":"cmp_..."},' +
      '"range":{"startDate":"2026-11-01","endDate":"2026-11-30"},"dimensions":["date","seller"]}.',
    scope: 'exchange:read',
    annotations: reads,
    input: z.strictObject({
      report: z.literal(DELIVERY_REPORT).optional(),
      filters: z
        .strictObject({ advertiserId: id.optional(), campaignId: id.optional(), mediaBuyId: id.optional() })
        .optional(),
      range: z
        .union([
          z.strictObject({ startDate: z.iso.date().optional(), endDate: z.iso.date().optional() }),
          z.strictObject({ lifetime: z.literal(true) }),
        ])
        .optional()
        .meta({ description: 'UTC days, both included. lifetime: all that is kept.' }),
      metrics: z.array(z.enum(deliveryMetrics)).min(1).optional().meta({ description: 'Default: all.' }),
      dimensions: z
        .array(z.enum(deliveryDimensions))
        .min(1)
        .optional()
        .meta({ description: 'What a row is for. Default: campaign.' }),
      ...pageArguments,
    }),
    output: shownAs(report, jsonSchemaOf(report, 'output')),
    run: async ({ filters, range, metrics, dimensions, limit, cursor, ...asked }, { invoke }) =>
      fitPage(limit, async (rows) => {
        const query = {
          ...asked,
          ...filters,
          ...range,
          metrics: metrics?.join(','),
          dimensions: dimensions?.join(','),
          limit: rows,
          cursor,
        };
        const fields = { startDate: 'range.startDate', endDate: 'range.endDate' };
        return (await namingArguments(fields, invoke('getDelivery', { query }))).data as DeliveryReport;
      }),
  });
};
