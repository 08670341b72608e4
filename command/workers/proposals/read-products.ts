import { z } from 'zod';
import type { Seller } from '../../../domain/sellers/resource.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import { shownText } from '../../../shared/outbound/shown-text.ts';
import { loadAdcpSchemas, type AdcpSchemas } from '../syndication/adcp-schemas.ts';
import { Id } from './read-answer.ts';

/** A product as AdCP defines it, with a `product_id` that is unique among sellers. */
export type SellerProduct = Readonly<Record<string, unknown>> & { readonly product_id: string };

export interface ReadProductsResult {
  readonly products: readonly SellerProduct[];
  readonly missing: readonly string[];
}

export type ReadProducts = (seller: Seller, data: JsonObject | undefined) => ReadProductsResult;

/** A limit for each seller, so that none displaces the others. */
const PRODUCTS_MAX = 200;
const PRODUCT_LENGTH_MAX = 50_000;
const DEPTH_MAX = 32;
const NAMED_MAX = 3;

const Answer = z.looseObject({ products: z.array(z.unknown()) });

/** Products are checked one by one: an invalid one spoils no other. */
export const createReadProducts = (): ReadProducts => {
  const schemas = loadAdcpSchemas();
  return (seller, data) => {
    const named = nameOf(seller);
    const parsed = Answer.safeParse(data);
    if (!parsed.success) return { products: [], missing: [`${named} gave an answer without products.`] };
    const read = parsed.data.products.slice(0, PRODUCTS_MAX).map((one) => readProduct(schemas, seller, one));
    const byId = new Map<string, SellerProduct>();
    for (const one of read) {
      if ('product' in one && !byId.has(one.product.product_id))
        byId.set(one.product.product_id, one.product);
    }
    const problems = read.flatMap((one) => ('problem' in one ? [one.problem] : []));
    const cut = parsed.data.products.length - read.length;
    return {
      products: [...byId.values()],
      missing: [
        ...(problems.length === 0 ? [] : [`${named}: ${invalidText(problems)}`]),
        ...(cut === 0 ? [] : [`${named}: ${cut} products after the first ${PRODUCTS_MAX}.`]),
      ],
    };
  };
};

export const nameOf = ({ sellerId, name }: Seller): string => `Seller ${sellerId} (${name})`;

const invalidText = (problems: readonly string[]): string => {
  const more = problems.length - NAMED_MAX;
  const named = problems.slice(0, NAMED_MAX).join(', ');
  return `${problems.length} invalid: ${named}${more > 0 ? ` and ${more} more` : ''}.`;
};

type Read = { readonly product: SellerProduct } | { readonly problem: string };

const readProduct = ({ validateResponse }: AdcpSchemas, { sellerId, name }: Seller, given: unknown): Read => {
  const product = clean(given, 0) as { readonly product_id?: unknown; readonly ext?: object } | null;
  const id = Id.safeParse(product?.product_id);
  if (product === null || !id.success) return { problem: 'a product without a valid product_id' };
  const problem = (what: string): Read => ({ problem: `${JSON.stringify(id.data.slice(0, 60))} (${what})` });
  const { valid, issues } = validateResponse('get_products', { products: [product] });
  if (!valid) return problem(shownText(issues[0]?.pointer.replace('/products/0', '') ?? '').slice(0, 80));
  if (JSON.stringify(product).length > PRODUCT_LENGTH_MAX) return problem('too large');
  const origin = { seller_id: sellerId, seller_name: name, product_id: id.data };
  return {
    product: {
      ...product,
      product_id: idAmongSellers(sellerId, id.data),
      ext: { ...product.ext, buyer_exchange: origin },
    },
  };
};

/** What is too deep is left out, so that the product is invalid where it must not be. */
const clean = (value: unknown, depth: number): unknown => {
  if (typeof value === 'string') return value.toWellFormed().replaceAll(/[^\P{Cc}\n\t]+/gu, ' ');
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) return null;
  if (Array.isArray(value)) return value.map((one) => clean(one, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, clean(one, depth + 1)]));
};

/** Sellers choose their ids without each other. `idOfSeller` takes it apart. */
export const idAmongSellers = (sellerId: number, id: string): string => `${sellerId}:${id}`;

/** Undefined if the text is not an id of this form. */
export const idOfSeller = (text: string): { readonly sellerId: number; readonly id: string } | undefined => {
  const [, sellerId, id] = /^([1-9]\d{0,9}):(.{1,200})$/su.exec(text) ?? [];
  return sellerId === undefined || id === undefined ? undefined : { sellerId: Number(sellerId), id };
};
