import type { SellerInput } from '../../domain/sellers/input.ts';
import type { SellerChanges, SellerCommand } from '../../domain/sellers/seller-directory.ts';
import type { Seller, SellerDirectory } from '../../domain/sellers/resource.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { runOnDirectory } from './handler.ts';

interface Writes {
  readonly store: EventStore;
  readonly clock: Clock;
}

type Below<Command> = Command extends unknown ? Omit<Command, 'now'> : never;

const run = ({ store, clock }: Writes, command: Below<SellerCommand>): Promise<SellerDirectory> =>
  runOnDirectory(store, { ...command, now: isoTimestamp(clock.now()) });

/** @throws ApiError CONFLICT (name taken, also by an earlier run of this command; directory full) */
export const addSeller = async (writes: Writes, seller: SellerInput): Promise<Seller> => {
  const directory = await run(writes, { type: 'AddSeller', seller: omitUndefined(seller) });
  const added = directory.find(({ name }) => name === seller.name);
  if (added === undefined) throw new Error('a seller that was added is in the directory');
  return added;
};

/** @throws ApiError NOT_FOUND, CONFLICT (name taken) */
export const changeSeller = async (
  writes: Writes,
  sellerId: number,
  given: { readonly [Member in keyof SellerChanges]: SellerChanges[Member] | undefined },
): Promise<Seller> => {
  const changes = omitUndefined(given);
  const directory = await run(writes, { type: 'ChangeSeller', sellerId, changes });
  const changed = directory.find((seller) => seller.sellerId === sellerId);
  if (changed === undefined) throw new Error('a seller that was changed is in the directory');
  return changed;
};
