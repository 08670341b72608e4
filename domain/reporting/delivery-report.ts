/** Reported by sellers. */
export const sellerMetrics = ['impressions', 'spend', 'clicks', 'views', 'completed_views'] as const;
const baseMetrics = [...sellerMetrics, 'conversions', 'conversion_value'] as const;
export const deliveryMetrics = [...baseMetrics, 'ctr', 'cpc', 'ecpm', 'cpa', 'roas'] as const;
export const deliveryDimensions = [
  'date',
  'advertiser',
  'campaign',
  'seller',
  'media_buy',
  'event_source',
] as const satisfies readonly (keyof DimensionValues)[];

export type BaseMetric = (typeof baseMetrics)[number];
export type DeliveryMetric = (typeof deliveryMetrics)[number];
export type DeliveryDimension = (typeof deliveryDimensions)[number];

/** Absent: not asked for, or it does not apply. */
export interface DimensionValues {
  /** `YYYY-MM-DD`, UTC. */
  readonly date?: string;
  readonly advertiser?: number;
  /** As shown. */
  readonly campaign?: string;
  readonly seller?: number;
  /** The seller's id. */
  readonly media_buy?: string;
  /** The buyer's key. */
  readonly event_source?: string;
}

/** A sum in millionths, exact, and the number of values in it. */
export interface Measure {
  readonly millionths: bigint;
  readonly count: number;
}
type Measures = Readonly<Partial<Record<BaseMetric, Measure>>>;

export interface DeliveryFact {
  readonly dimensions: DimensionValues;
  /** True: media buys without a reference. */
  readonly isUnassigned: boolean;
  /** Null: a count of conversions without a value. */
  readonly currency: string | null;
  readonly measures: Measures;
  /** ISO 8601, UTC. */
  readonly dataThrough: string;
}

export type ShownMetrics = Partial<Record<DeliveryMetric, number>>;

export interface DeliveryRow {
  readonly dimensions: DimensionValues;
  readonly unassigned?: true;
  readonly metrics: ShownMetrics;
  readonly currency: string | null;
  readonly dataThrough: string;
}

export interface DeliveryTotals {
  readonly rowsIncluded: number;
  readonly metrics: ShownMetrics;
  readonly currency: string | null;
}

const money: readonly BaseMetric[] = ['spend', 'conversion_value'];

const addMeasures = (one: Measures, other: Measures): Measures => {
  const sum: Partial<Record<BaseMetric, Measure>> = { ...one };
  for (const metric of baseMetrics) {
    const [a, b] = [sum[metric], other[metric]];
    if (b === undefined) continue;
    sum[metric] = a === undefined ? b : { millionths: a.millionths + b.millionths, count: a.count + b.count };
  }
  return sum;
};

const later = (one: string, other: string): string => (one > other ? one : other);

const addFacts = (one: DeliveryFact, other: DeliveryFact): DeliveryFact => ({
  ...one,
  measures: addMeasures(one.measures, other.measures),
  dataThrough: later(one.dataThrough, other.dataThrough),
});

const SCALE = 1_000_000;
const rounded = (value: number): number => Math.round(value * SCALE) / SCALE;

/** @returns undefined if a part is missing, or nothing to divide by */
const ratio = (part: Measure | undefined, whole: Measure | undefined, factor = 1): number | undefined => {
  if (part === undefined || whole === undefined || whole.millionths === 0n) return undefined;
  return rounded((Number(part.millionths) / Number(whole.millionths)) * factor);
};

/** Media buys that reported one part alone would distort the ratio. */
const ofSame = (part: Measure | undefined, whole: Measure | undefined): Measure | undefined =>
  part?.count === whole?.count ? part : undefined;

const shownMetrics = (
  { impressions, spend, clicks, views, completed_views, conversions, conversion_value }: Measures,
  wanted: readonly DeliveryMetric[],
  areConversionsWhole: boolean,
): ShownMetrics => {
  const sum = (measure: Measure | undefined): number | undefined =>
    measure && Number(measure.millionths) / SCALE;
  const values: Record<DeliveryMetric, number | undefined> = {
    impressions: sum(impressions),
    spend: sum(spend),
    clicks: sum(clicks),
    views: sum(views),
    completed_views: sum(completed_views),
    conversions: sum(conversions),
    conversion_value: sum(conversion_value),
    ctr: ratio(ofSame(clicks, impressions), impressions),
    cpc: ratio(ofSame(spend, clicks), clicks),
    ecpm: ratio(ofSame(spend, impressions), impressions, 1_000),
    cpa: areConversionsWhole ? ratio(spend, conversions) : undefined,
    roas: ratio(conversion_value, spend),
  };
  return Object.fromEntries(
    deliveryMetrics.flatMap((metric) => {
      const value = values[metric];
      return wanted.includes(metric) && value !== undefined ? [[metric, value]] : [];
    }),
  );
};

const placeOf = ({ dimensions, isUnassigned }: DeliveryFact): string =>
  JSON.stringify([deliveryDimensions.map((name) => dimensions[name] ?? null), isUnassigned]);

const grouped = <Item>(items: readonly Item[], keyOf: (item: Item) => string): readonly Item[][] => {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups.values()];
};

/** One fact a currency. Counts without a currency join the only one: they belong to it as well as to none. */
const byCurrency = (facts: readonly DeliveryFact[]): readonly DeliveryFact[] => {
  const sums = grouped(facts, ({ currency }) => currency ?? '').map((same) => same.reduce(addFacts));
  const [first, second, third] = sums;
  if (first === undefined || second === undefined || third !== undefined) return sums;
  if (first.currency === null) return [addFacts(second, first)];
  return second.currency === null ? [addFacts(first, second)] : sums;
};

const compareValues = (a: string | number | undefined, b: string | number | undefined): number => {
  if (a === b) return 0;
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return a < b ? -1 : 1;
};

/** Rows without a dimension come last. */
const inOrder = (a: DeliveryRow, b: DeliveryRow): number => {
  for (const name of deliveryDimensions) {
    const order = compareValues(a.dimensions[name], b.dimensions[name]);
    if (order !== 0) return order;
  }
  return (
    Number(a.unassigned ?? false) - Number(b.unassigned ?? false) ||
    compareValues(a.currency ?? undefined, b.currency ?? undefined)
  );
};

/** A row for each value of the dimensions and each currency, in order, without those that have no wanted metric. */
export const deliveryRows = (
  facts: readonly DeliveryFact[],
  wanted: readonly DeliveryMetric[],
): readonly DeliveryRow[] =>
  grouped(facts, placeOf)
    .flatMap((group) => {
      const sums = byCurrency(group);
      return sums.map(({ dimensions, isUnassigned, measures, currency, dataThrough }) => ({
        dimensions,
        ...(isUnassigned && { unassigned: true as const }),
        metrics: shownMetrics(measures, wanted, sums.length === 1),
        currency,
        dataThrough,
      }));
    })
    .filter(({ metrics }) => Object.keys(metrics).length > 0)
    .sort(inOrder);

/** Sums of all pages. Amounts of money, and metrics that derive from them, only with a single currency. */
export const deliveryTotals = (
  facts: readonly DeliveryFact[],
  wanted: readonly DeliveryMetric[],
  rowsIncluded: number,
): DeliveryTotals => {
  const currencies = new Set(facts.flatMap(({ currency }) => currency ?? []));
  const [currency = null] = currencies.size === 1 ? currencies : [];
  const all = facts.map(({ measures }) => measures).reduce(addMeasures, {});
  const summed = currencies.size > 1 ? withoutMoney(all) : all;
  return { rowsIncluded, metrics: shownMetrics(summed, wanted, true), currency };
};

const withoutMoney = (measures: Measures): Measures =>
  Object.fromEntries(Object.entries(measures).filter(([metric]) => !money.includes(metric as BaseMetric)));
