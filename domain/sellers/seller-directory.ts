import { accept, refuse, type Decision } from '../decision.ts';
import { equalJson } from '../equal-json.ts';
import { sellerEvents, type SellerEvent } from './events.ts';
import {
  builtInSellers,
  withSellers,
  type Seller,
  type SellerAgent,
  type SellerDirectory,
} from './resource.ts';

export const SELLERS = 'sellers';

/** No account has this id. */
export const INSTALLATION = 0;

/** One stream for all sellers: limit and uniqueness hold without locks, with concurrent operators. */
export const sellerDirectoryStream = `${SELLERS}-${INSTALLATION}`;

const SELLERS_MAX = 200;
const FIRST_ID = 1_001;

type SellerMembers = Omit<Seller, 'sellerId' | 'retired' | 'agent'>;
/** `agent: null` disconnects it. */
export type SellerChanges = Partial<
  Omit<Seller, 'sellerId' | 'agent'> & { readonly agent: SellerAgent | null }
>;

export type SellerCommand =
  | { readonly type: 'AddSeller'; readonly now: string; readonly seller: SellerMembers }
  | {
      readonly type: 'ChangeSeller';
      readonly now: string;
      readonly sellerId: number;
      readonly changes: SellerChanges;
    };

export type SellerRefusal =
  | { readonly reason: 'not-found' }
  | { readonly reason: 'name-taken'; readonly sellerId: number }
  | { readonly reason: 'too-many-sellers'; readonly limit: number };

type SellerDecision = Decision<SellerEvent, SellerRefusal>;

const decide = (command: SellerCommand, directory: SellerDirectory): SellerDecision => {
  const isAdded = command.type === 'AddSeller';
  const known = isAdded ? undefined : directory.find(({ sellerId }) => sellerId === command.sellerId);
  if (!isAdded && known === undefined) return refuse({ reason: 'not-found' });
  const seller: Seller = isAdded
    ? { sellerId: nextId(directory), ...command.seller, retired: false }
    : withChanges(known as Seller, command.changes);
  const namesake = directory.find(
    (other) => other.sellerId !== seller.sellerId && other.name.toLowerCase() === seller.name.toLowerCase(),
  );
  if (namesake !== undefined) return refuse({ reason: 'name-taken', sellerId: namesake.sellerId });
  if (isAdded && directory.length >= SELLERS_MAX) {
    return refuse({ reason: 'too-many-sellers', limit: SELLERS_MAX });
  }
  if (equalJson(seller, known)) return accept();
  return accept({
    type: isAdded ? 'SellerAdded' : 'SellerChanged',
    data: seller,
    occurredAt: command.now,
  });
};

const withChanges = (
  { agent: before, ...known }: Seller,
  { agent = before, ...changes }: SellerChanges,
): Seller => ({ ...known, ...changes, ...(agent && { agent }) });

const nextId = (directory: SellerDirectory): number =>
  Math.max(FIRST_ID - 1, ...directory.map(({ sellerId }) => sellerId)) + 1;

export const sellerDirectoryFold = {
  category: SELLERS,
  stream: () => sellerDirectoryStream,
  events: sellerEvents,
  initialState: builtInSellers,
  evolve: (directory: SellerDirectory, { data }: SellerEvent): SellerDirectory =>
    withSellers(directory, [data]),
};
export const sellerDirectoryAggregate = { ...sellerDirectoryFold, decide };
