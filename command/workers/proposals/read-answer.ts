import { z } from 'zod';
import type { ProposedProduct, SellerAnswer } from '../../../domain/proposals/events.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import { shownText } from '../../../shared/outbound/shown-text.ts';

/** What an event may hold of one seller: the rest stays in the stored answer. */
const PRODUCTS_MAX = 50;
const PROPOSALS_MAX = 50;
/** Limit for the listed products as JSON: with the other members, an event stays well below 256 KB. */
const PRODUCTS_LENGTH_MAX = 48_000;

export type ReadAnswer =
  | { readonly answer: Omit<SellerAnswer, 'digest' | 'ref'> }
  | { readonly problem: { readonly code: string; readonly message: string } };

/** Ids are sent back unchanged, so a part of one would be another id. */
export const Id = z.string().regex(/^[^\p{Cc}\p{Cs}]{1,200}$/u);
const text = (charactersMax: number) =>
  z
    .string()
    .min(1)
    .transform((all) => shownText(all).slice(0, charactersMax).toWellFormed());

const Price = z.number().min(0).optional().catch(undefined);
const PricingOption = z.object({
  pricing_option_id: Id,
  pricing_model: z.string().max(50).optional().catch(undefined),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .optional()
    .catch(undefined),
  fixed_price: Price,
  floor_price: Price,
});

/** Members that the exchange does not show are not checked: sellers have many dialects. */
const Product = z.object({
  product_id: Id,
  name: text(200),
  description: text(500).optional().catch(undefined),
  delivery_type: z.enum(['guaranteed', 'non_guaranteed']).optional().catch(undefined),
  channels: z.array(z.unknown()).catch([]),
  pricing_options: z.array(z.unknown()).catch([]),
});

const Proposal = z.object({
  proposal_id: Id,
  allocations: z
    .array(z.object({ product_id: Id, allocation_percentage: z.number() }))
    .min(1)
    .max(1_000),
});

const Answer = z.looseObject({
  products: z.array(z.unknown()),
  proposals: z.array(z.unknown()).optional().catch(undefined),
  context: z.looseObject({ buyer_ref: z.unknown().optional() }).optional().catch(undefined),
});

/** Items are checked one by one: an invalid product spoils no other. @param buyerRef that the seller was given */
export const readAnswer = (data: JsonObject | undefined, buyerRef: string): ReadAnswer => {
  const parsed = Answer.safeParse(data);
  if (!parsed.success) {
    return {
      problem: { code: 'INVALID_ANSWER', message: 'The answer of the seller has no products member.' },
    };
  }
  const { products, proposals = [], context } = parsed.data;
  const echoed = context?.buyer_ref;
  if (echoed !== undefined && echoed !== buyerRef) {
    return { problem: { code: 'FOREIGN_ANSWER', message: 'The seller answered another request.' } };
  }
  const valid = distinctProducts(products);
  const ids = new Set(valid.map(({ productId }) => productId));
  const proposalIds = proposalsAmong(proposals, ids);
  const listed = fitting(valid);
  return {
    answer: {
      outcome: valid.length > 0 ? 'returned_products' : 'no_matching_products',
      proposalIds: proposalIds.slice(0, PROPOSALS_MAX),
      products: listed,
      counts: {
        received: products.length,
        invalid: products.length - valid.length + proposals.length - proposalIds.length,
        unlisted: valid.length - listed.length,
      },
    },
  };
};

const distinctProducts = (products: readonly unknown[]): readonly ProposedProduct[] => {
  const byId = new Map<string, ProposedProduct>();
  for (const one of products) {
    const parsed = Product.safeParse(one);
    if (parsed.success && !byId.has(parsed.data.product_id))
      byId.set(parsed.data.product_id, shown(parsed.data));
  }
  return [...byId.values()];
};

const CHANNELS_MAX = 30;
const PRICING_OPTIONS_MAX = 10;

const shown = (product: z.output<typeof Product>): ProposedProduct => {
  const { product_id: productId, name, description, delivery_type: deliveryType } = product;
  return {
    productId,
    name,
    ...(description !== undefined && { description }),
    ...(deliveryType !== undefined && { deliveryType }),
    channels: product.channels
      .filter((one): one is string => typeof one === 'string' && /^[a-z_]{1,50}$/.test(one))
      .slice(0, CHANNELS_MAX),
    pricingOptions: product.pricing_options
      .slice(0, PRICING_OPTIONS_MAX)
      .flatMap((one) => PricingOption.safeParse(one).data ?? [])
      .map(({ pricing_option_id: pricingOptionId, pricing_model, currency, fixed_price, floor_price }) => ({
        pricingOptionId,
        ...(pricing_model !== undefined && { pricingModel: shownText(pricing_model) }),
        ...(currency !== undefined && { currency }),
        ...(fixed_price !== undefined && { fixedPrice: fixed_price }),
        ...(floor_price !== undefined && { floorPrice: floor_price }),
      })),
  };
};

const SUM_TOLERANCE = 0.5;

/** A proposal that names products of someone else, or does not spend the whole budget, is none. */
const proposalsAmong = (proposals: readonly unknown[], ids: ReadonlySet<string>): readonly string[] => [
  ...new Set(
    proposals.flatMap((one) => {
      const parsed = Proposal.safeParse(one);
      if (!parsed.success) return [];
      const { proposal_id, allocations } = parsed.data;
      const sum = allocations.reduce((all, { allocation_percentage: part }) => all + part, 0);
      const isValid =
        allocations.every(({ product_id }) => ids.has(product_id)) && Math.abs(sum - 100) <= SUM_TOLERANCE;
      return isValid ? [proposal_id] : [];
    }),
  ),
];

const fitting = (products: readonly ProposedProduct[]): ProposedProduct[] => {
  const listed: ProposedProduct[] = [];
  let length = 0;
  for (const product of products.slice(0, PRODUCTS_MAX)) {
    length += JSON.stringify(product).length;
    if (length > PRODUCTS_LENGTH_MAX) break;
    listed.push(product);
  }
  return listed;
};
