import { accept, type Decision } from '../decision.ts';
import { equalJson } from '../equal-json.ts';
import { sellerDeliveryEvents, type DeliveredBuy, type SellerDeliveryEvent } from './events.ts';

export const SELLER_DELIVERY_DAY = 'sellerDelivery';

export interface SellerDay {
  readonly sellerId: number;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
}

/** One stream for each day: it ends soon after the day, so it stays short. */
const sellerDeliveryStream = (customerId: number, { sellerId, day }: SellerDay): string =>
  `${SELLER_DELIVERY_DAY}-${customerId}-${sellerId}-${day.replaceAll('-', '')}`;

/** @returns the account in a stream name; undefined for other streams, and for other sellers or days */
export const accountOfDelivery = (stream: string, at: SellerDay): number | undefined => {
  const customerId = Number(/^[^-]+-(\d+)-/.exec(stream)?.[1]);
  return sellerDeliveryStream(customerId, at) === stream ? customerId : undefined;
};

/** The last reported values of each media buy. */
export type SellerDelivery = readonly DeliveredBuy[];

const initialState: SellerDelivery = [];

const evolve = (buys: SellerDelivery, { data }: SellerDeliveryEvent): SellerDelivery => [
  ...new Map([...buys, ...data.buys].map((buy) => [buy.mediaBuyId, buy])).values(),
];

export interface SellerDeliveryCommand extends SellerDay {
  readonly type: 'ReportDelivery';
  readonly now: string;
  readonly buys: readonly DeliveredBuy[];
}

/** A media buy that a report does not mention keeps its last values. */
const decide = (
  { now, sellerId, day, buys }: SellerDeliveryCommand,
  known: SellerDelivery,
): Decision<SellerDeliveryEvent, never> => {
  const before = new Map(known.map((buy) => [buy.mediaBuyId, buy]));
  const changed = buys.filter((buy) => !equalJson(buy, before.get(buy.mediaBuyId)));
  if (changed.length === 0) return accept();
  return accept({
    type: 'SellerDeliveryReported',
    data: { sellerId, day, buys: changed },
    occurredAt: now,
  });
};

export const sellerDeliveryAggregate = {
  category: SELLER_DELIVERY_DAY,
  stream: sellerDeliveryStream,
  events: sellerDeliveryEvents,
  initialState,
  evolve,
  decide,
};
