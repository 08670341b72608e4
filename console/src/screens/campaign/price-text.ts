import type { ProposedProduct } from '../../api/types.ts';
import { moneyText } from '../../pieces/money.ts';

type PricingOption = ProposedProduct['pricingOptions'][number];

export const amountText = (amount: number, currency: string | undefined): string =>
  currency === undefined ? String(amount) : moneyText({ total: amount, currency });

/** e.g. `cpm $12.50`, `cpm from €3.00`, `cpm` */
export const priceText = ({ pricingModel, currency, fixedPrice, floorPrice }: PricingOption): string => {
  const model = pricingModel ?? 'price';
  if (fixedPrice !== undefined) return `${model} ${amountText(fixedPrice, currency)}`;
  return floorPrice === undefined ? model : `${model} from ${amountText(floorPrice, currency)}`;
};
