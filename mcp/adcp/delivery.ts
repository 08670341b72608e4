import { z } from 'zod';
import { idAmongSellers, idOfSeller } from '../../command/workers/proposals/read-products.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { DeliveryReport } from '../../domain/reporting/resource.ts';
import { ApiError } from '../../shared/http/errors.ts';
import { namingArguments } from '../operations.ts';
import { reads, type ToolCall } from '../tool.ts';
import { jsonBytesOf } from '../truncate.ts';
import { invalidRequest, unsupported, type AdcpRefusal } from './refusal.ts';
import { accountInput, brandAccountOf, commonInput, type AdcpTask, type Given } from './task.ts';

const PAGE_ROWS = 100;
/** AdCP has no pages here: a larger report is refused instead of cut. */
const BUYS_MAX = 500;
const IDS_MAX = 50;

const Request = z.looseObject({
  account: accountInput,
  media_buy_ids: z
    .array(z.string())
    .optional()
    .meta({ description: `At most ${IDS_MAX}.` }),
  start_date: z.string().optional(),
  end_date: z.string().optional().meta({ description: 'UTC, included; at most 90 days.' }),
  ...commonInput,
});
type Request = z.infer<typeof Request>;
type Row = DeliveryReport['rows'][number];

/** From what sellers report to the exchange; no seller is asked. */
export const deliveryTask = (): AdcpTask => ({
  name: 'get_media_buy_delivery',
  title: 'What media buys delivered',
  description:
    'AdCP: impressions, spend and so on of media buys, as the sellers have reported them to the exchange. A ' +
    'media_buy_id is "<seller>:<media_buy_id of the seller>". The exchange does not know the status of a media buy: ' +
    'status is "active" for each that has reported delivery, and ext.buyer_exchange.status_known is false. ' +
    'A report has one currency, and no packages.',
  scope: 'exchange:read',
  annotations: reads,
  input: Request,
  run: async (given, call, bytesMax) => {
    const request = Request.parse(given);
    refuseUnknown(given, request);
    const account = brandAccountOf(request.account);
    const { rows, period } = await readRows(request, call);
    const wanted = await ofBrand(rows, account?.brand.domain, call);
    const buys = wanted.filter((row) => row.metrics.spend !== undefined);
    const answer = {
      reporting_period: { start: `${period.startDate}T00:00:00Z`, end: `${period.endDate}T23:59:59Z` },
      currency: currencyOf(buys),
      ...(buys.length > 0 && { aggregated_totals: totalsOf(buys) }),
      media_buy_deliveries: buys.map(shownBuy),
      ...errorsOf(request, wanted),
    };
    if (jsonBytesOf(answer) > bytesMax) throw tooMany();
    return answer;
  },
});

const refuseUnknown = (given: Given, { media_buy_ids: ids = [] }: Request): void => {
  if (given['status_filter'] !== undefined) {
    throw unsupported(
      'The exchange does not know the status of media buys. Leave status_filter out.',
      'status_filter',
    );
  }
  if (ids.length > IDS_MAX) {
    throw invalidRequest(`A call names at most ${IDS_MAX} media buys.`, 'media_buy_ids');
  }
};

const tooMany = (): AdcpRefusal =>
  invalidRequest(
    'The report has more media buys than one answer may have. Name some in media_buy_ids, or shorten the period.',
    'media_buy_ids',
  );

interface ReadRows {
  readonly rows: readonly Row[];
  readonly period: DeliveryReport['period'];
}

const readRows = async (request: Request, call: ToolCall): Promise<ReadRows> => {
  const { media_buy_ids: ids } = request;
  if (ids === undefined) return readPages(request, call, undefined);
  const rows: Row[] = [];
  // One of them says the period, also when no id has the form of this agent.
  let period: ReadRows['period'] | undefined;
  for (const id of new Set(ids.map((one) => idOfSeller(one)?.id ?? ''))) {
    const read = await readPages(request, call, id === '' ? '-' : id);
    period ??= read.period;
    rows.push(...read.rows);
  }
  return { rows: rows.filter((row) => ids.includes(idOf(row))), period: period as ReadRows['period'] };
};

const readPages = async (
  { start_date: startDate, end_date: endDate }: Request,
  { invoke }: ToolCall,
  mediaBuyId: string | undefined,
): Promise<ReadRows> => {
  const rows: Row[] = [];
  let cursor: string | undefined;
  for (;;) {
    const query = {
      ...(startDate === undefined && endDate === undefined ? { lifetime: true } : { startDate, endDate }),
      dimensions: 'advertiser,seller,media_buy',
      metrics: 'impressions,spend,clicks,views,completed_views',
      mediaBuyId,
      limit: PAGE_ROWS,
      cursor,
    };
    const fields = {
      startDate: 'start_date',
      endDate: 'end_date',
      range: 'start_date',
      mediaBuyId: 'media_buy_ids',
    };
    const { data } = await namingArguments(fields, invoke('getDelivery', { query }));
    const {
      rows: page,
      period,
      page: { nextCursor },
    } = data as DeliveryReport;
    // Conversions of the account's own event sources belong to no media buy.
    rows.push(...page.filter(({ dimensions }) => dimensions.media_buy !== undefined));
    if (rows.length > BUYS_MAX) throw tooMany();
    if (nextCursor === undefined) return { rows, period };
    cursor = nextCursor;
  }
};

const idOf = ({ dimensions: { seller = 0, media_buy: id = '' } }: Row): string => idAmongSellers(seller, id);

/** The account of AdCP is the brand of an advertiser. A media buy without an advertiser is of no brand. */
const ofBrand = async (
  rows: readonly Row[],
  domain: string | undefined,
  { invoke }: ToolCall,
): Promise<readonly Row[]> => {
  if (domain === undefined) return rows;
  const brands = new Map<number, string | undefined>();
  for (const { dimensions } of rows) {
    const { advertiser } = dimensions;
    if (advertiser === undefined || brands.has(advertiser)) continue;
    const read = invoke('getAdvertiser', { params: { id: String(advertiser) } }).catch(ignoreArchived);
    brands.set(advertiser, ((await read)?.data as AdvertiserResource | undefined)?.brandDomain);
  }
  return rows.filter(({ dimensions: { advertiser = 0 } }) => brands.get(advertiser) === domain);
};

const ignoreArchived = (error: unknown): undefined => {
  if (!(error instanceof ApiError) || error.body.code !== 'NOT_FOUND') throw error;
};

/** AdCP requires one, also of an empty report. */
const NO_CURRENCY = 'USD';

const currencyOf = (rows: readonly Row[]): string => {
  const [currency = NO_CURRENCY, ...others] = new Set(rows.flatMap((row) => row.currency ?? []));
  if (others.length === 0) return currency;
  throw invalidRequest(
    'The media buys have several currencies, and a report of AdCP has one. Name those of one currency in media_buy_ids.',
    'media_buy_ids',
    { currencies: [currency, ...others] },
  );
};

const totalsOf = (rows: readonly Row[]): Given => {
  const sum = (name: 'impressions' | 'spend'): number =>
    Math.round(rows.reduce((all, { metrics }) => all + (metrics[name] ?? 0), 0) * 1e6) / 1e6;
  return { impressions: sum('impressions'), spend: sum('spend'), media_buy_count: rows.length };
};

const shownBuy = (row: Row): Given => {
  const { dimensions, metrics, dataThrough } = row;
  const { seller: seller_id, media_buy: media_buy_id, advertiser: advertiser_id } = dimensions;
  const known = { seller_id, media_buy_id, advertiser_id, data_through: dataThrough, status_known: false };
  return {
    media_buy_id: idOf(row),
    status: 'active',
    totals: metrics,
    by_package: [],
    ext: { buyer_exchange: known },
  };
};

/** What was asked for and is not there. The same for what another account has. */
const errorsOf = ({ media_buy_ids: ids = [] }: Request, rows: readonly Row[]): Given => {
  const unpaid = rows
    .filter(({ metrics }) => metrics.spend === undefined)
    .map((row) => error('DATA_UNAVAILABLE', `The seller has reported no spend of media buy ${idOf(row)}.`));
  const found = new Set(rows.map(idOf));
  const missing = ids
    .filter((id) => !found.has(id))
    .map((id) =>
      error('MEDIA_BUY_NOT_FOUND', `No delivery of media buy ${id.slice(0, 220)} is reported in the period.`),
    );
  const errors = [...missing, ...unpaid];
  return errors.length === 0 ? {} : { errors };
};

const error = (code: string, message: string): Given => ({ code, message, recovery: 'correctable' });
