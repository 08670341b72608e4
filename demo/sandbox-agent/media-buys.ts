/** The last references that are remembered. */
const REFERENCES_MAX = 1_000;

interface ReportQuery {
  readonly start_date?: string | undefined;
  readonly end_date?: string | undefined;
}

export interface MediaBuys {
  /** As if the buyer bought at once what it was offered. @param reference from the `context` of its request */
  buy(reference: unknown): void;
  /** Each media buy has delivered the same, today: a figure that never changes is reported once. */
  deliveryOf(query: ReportQuery): Record<string, unknown>;
}

export const createMediaBuys = (): MediaBuys => {
  const references = new Set<string>();
  return {
    buy: (reference) => {
      if (typeof reference !== 'string') return;
      references.add(reference);
      const [oldest] = references;
      if (references.size > REFERENCES_MAX && oldest !== undefined) references.delete(oldest);
    },
    deliveryOf: ({ start_date, end_date }) => {
      const today = new Date().toISOString().slice(0, 10);
      const isToday = (start_date ?? today) <= today && today <= (end_date ?? today);
      const day = start_date ?? today;
      return {
        currency: 'USD',
        reporting_period: { start: `${day}T00:00:00Z`, end: `${end_date ?? day}T23:59:59Z` },
        media_buy_deliveries: isToday ? [...references].map(deliveryOfBuy) : [],
      };
    },
  };
};

const deliveryOfBuy = (buyer_ref: string) => ({
  media_buy_id: `mb-${buyer_ref.slice(-12)}`,
  buyer_ref,
  status: 'active',
  totals: { impressions: 12_400, clicks: 310, spend: 105.5 },
  by_package: [],
});
