import type { DeliveryReport } from '../../api/types.ts';
import { moneyText } from '../../pieces/money.ts';

export type Row = DeliveryReport['rows'][number];
export type Metric = DeliveryReport['query']['metrics'][number];
export type Dimension = DeliveryReport['query']['dimensions'][number];

export const metricLabels: Readonly<Record<Metric, string>> = {
  impressions: 'Impressions',
  spend: 'Spend',
  clicks: 'Clicks',
  views: 'Views',
  completed_views: 'Completed views',
  conversions: 'Conversions',
  conversion_value: 'Conversion value',
  ctr: 'CTR',
  cpc: 'CPC',
  ecpm: 'eCPM',
  cpa: 'CPA',
  roas: 'ROAS',
};
export const metricNames = Object.keys(metricLabels) as readonly Metric[];

export const dimensionLabels: Readonly<Record<Dimension, string>> = {
  date: 'Day',
  advertiser: 'Advertiser',
  campaign: 'Campaign',
  seller: 'Seller',
  media_buy: 'Media buy',
  event_source: 'Event source',
};

const money: ReadonlySet<Metric> = new Set(['spend', 'conversion_value', 'cpc', 'ecpm', 'cpa']);

/** @param value absent: nothing reports it, which is not 0 */
export const metricText = (metric: Metric, value: number | undefined, currency: string | null): string => {
  if (value === undefined) return '–';
  if (money.has(metric) && currency !== null) return moneyText({ total: value, currency });
  if (metric === 'ctr')
    return new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 2 }).format(value);
  return new Intl.NumberFormat(undefined, { maximumFractionDigits: 2 }).format(value);
};
