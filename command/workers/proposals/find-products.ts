import { randomUUID } from 'node:crypto';
import type { Seller } from '../../../domain/sellers/resource.ts';
import type { CommandStores } from '../../../shared/aggregate/handler-for.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import { createSharedForEach } from '../../../shared/async/limit.ts';
import { timeoutSignal } from '../../../shared/async/timeout.ts';
import { ApiError, unavailable } from '../../../shared/http/errors.ts';
import { loadDirectory } from '../../sellers/handler.ts';
import type { AgentAnswer } from '../syndication/agent-call.ts';
import { askForProducts, NO_INVENTORY, type AskForProductsOptions } from './ask-for-products.ts';
import { createReadProducts, nameOf, type ReadProducts, type SellerProduct } from './read-products.ts';

export type FindProductsOptions = CommandStores & AskForProductsOptions;

export interface ProductsWanted {
  readonly customerId: number;
  /** Members of AdCP's `get_products` that every seller gets. */
  readonly request: JsonObject;
  readonly canAsk: (seller: Seller) => boolean;
  /** For all sellers together, ms. */
  readonly budgetMs: number;
  readonly signal: AbortSignal;
}

export interface FoundProducts {
  /** In the order of the directory of sellers, then of the seller. Whole, as AdCP defines them. */
  readonly products: readonly SellerProduct[];
  /** What is missing, for people: a sentence each. */
  readonly missing: readonly string[];
}

/** @throws ApiError RATE_LIMITED while the account has as many searches as it may */
export type FindProducts = (wanted: ProductsWanted) => Promise<FoundProducts>;

/** All sellers of a search share its time, so none waits for another, unless several accounts search. */
const SELLERS_AT_ONCE = { each: 200, together: 200 } as const;
/** The most searches of one account that one process runs at a time: each calls up to 200 sellers. */
const SEARCHES_OF_ACCOUNT_MAX = 2;
const PRODUCTS_MAX = 1_000;
const PRODUCTS_LENGTH_MAX = 5_000_000;

/** Asks sellers now, each once. Nothing is recorded: sellers are only asked what they sell. */
export const createFindProducts = (options: FindProductsOptions): FindProducts => {
  const forEach = createSharedForEach(SELLERS_AT_ONCE);
  const searches = new Map<number, number>();
  return async ({ customerId, ...wanted }) => {
    const running = searches.get(customerId) ?? 0;
    if (running >= SEARCHES_OF_ACCOUNT_MAX) throw tooMany();
    searches.set(customerId, running + 1);
    try {
      return await search(options, forEach, wanted);
    } finally {
      const left = (searches.get(customerId) ?? 1) - 1;
      if (left === 0) searches.delete(customerId);
      else searches.set(customerId, left);
    }
  };
};

const tooMany = (): ApiError =>
  new ApiError(
    {
      code: 'RATE_LIMITED',
      message: `The account has ${SEARCHES_OF_ACCOUNT_MAX} running searches for products. Repeat the call when one has ended.`,
    },
    { 'Retry-After': '5' },
  );

const search = async (
  options: FindProductsOptions,
  forEach: ReturnType<typeof createSharedForEach>,
  { request, canAsk, budgetMs, signal }: Omit<ProductsWanted, 'customerId'>,
): Promise<FoundProducts> => {
  const sellers = (await loadDirectory(options)).filter(
    (seller) => seller.agent !== undefined && !seller.retired && canAsk(seller),
  );
  const readProducts = createReadProducts();
  const over = timeoutSignal(budgetMs);
  const asked = { request, budgetMs, signal: AbortSignal.any([over, signal]) };
  const answers = new Map<Seller, FoundProducts>();
  await forEach(sellers, async (seller) => {
    answers.set(
      seller,
      over.aborted ? late(seller) : await askOne(options, seller, asked, over, readProducts),
    );
  });
  if (signal.aborted) throw unavailable('The search was ended. Repeat the call.');
  return together(sellers.flatMap((seller) => answers.get(seller) ?? []));
};

const askOne = async (
  options: FindProductsOptions,
  seller: Seller,
  asked: Pick<ProductsWanted, 'request' | 'budgetMs' | 'signal'>,
  over: AbortSignal,
  readProducts: ReadProducts,
): Promise<FoundProducts> => {
  // Not sent with a read.
  const answer = await askForProducts(options, seller.agent, { ...asked, idempotencyKey: randomUUID() });
  if (answer.outcome === 'completed') return readProducts(seller, answer.data);
  if (over.aborted) return late(seller);
  const failure = failureOf(answer);
  return failure === undefined ? nothing : without(`${nameOf(seller)} ${failure}`);
};

const nothing: FoundProducts = { products: [], missing: [] };
const without = (reason: string): FoundProducts => ({ products: [], missing: [reason] });
const late = (seller: Seller): FoundProducts => without(`${nameOf(seller)} did not answer in time.`);

/** The seller's own message is not shown: it may contain addresses, or instructions for a model. */
const failureOf = (answer: Exclude<AgentAnswer, { readonly outcome: 'completed' }>): string | undefined => {
  if (answer.outcome === 'submitted') return 'works on its answer. Ask again later.';
  if (answer.code === NO_INVENTORY) return undefined;
  if (answer.fault === 'transport') return 'could not be reached.';
  if (answer.fault === 'protocol') return 'gave no valid answer.';
  return answer.outcome === 'retry' ? 'is not available now. Ask again later.' : 'refused the request.';
};

/** Limits what one answer of the exchange holds in memory and in the store. */
const together = (found: readonly FoundProducts[]): FoundProducts => {
  const products: SellerProduct[] = [];
  let length = 0;
  for (const product of found.flatMap((one) => one.products)) {
    length += JSON.stringify(product).length;
    if (products.length >= PRODUCTS_MAX || length > PRODUCTS_LENGTH_MAX) break;
    products.push(product);
  }
  const missing = found.flatMap((one) => one.missing);
  const cut = found.reduce((sum, one) => sum + one.products.length, 0) - products.length;
  return { products, missing: cut === 0 ? missing : [...missing, `${cut} products of the last sellers.`] };
};
