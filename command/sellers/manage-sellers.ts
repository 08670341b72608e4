import { z } from 'zod';
import { Channel } from '../../domain/advertisers/resource.ts';
import type { SellerChanges, SellerCommand, SellerRefusal } from '../../domain/sellers/seller-directory.ts';
import type { Seller } from '../../domain/sellers/seller-resource.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { omitUndefined } from '../../shared/aggregate/omit-undefined.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { ApiError, notFound } from '../../shared/http/errors.ts';
import { isHttpUrl } from '../../shared/outbound/outbound-url.ts';
import { boundedText, listOf } from '../../domain/values.ts';
import { runOnDirectory } from './directory.ts';

interface Writes {
  readonly store: EventStore;
  readonly clock: Clock;
}

export const SellerInput = z.object({
  name: boundedText(1, 200),
  logoUrl: z
    .url({ protocol: /^https$/, error: 'must be a URL starting with https://' })
    .max(2_048)
    .refine(isHttpUrl, 'must be a URL starting with https://')
    .optional(),
  channels: listOf(Channel, Channel.options.length),
});
type SellerInput = z.output<typeof SellerInput>;

type Below<Command> = Command extends unknown ? Omit<Command, 'now'> : never;

const run = async ({ store, clock }: Writes, command: Below<SellerCommand>): Promise<readonly Seller[]> => {
  const outcome = await runOnDirectory(store, { ...command, now: isoTimestamp(clock.now()) });
  if (outcome.outcome === 'refused') throw sellerRefused(outcome.refusal);
  return outcome.state;
};

/**
 * A repeat after an unknown outcome reports which seller has the name. @throws ApiError CONFLICT (name taken,
 * directory full)
 */
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

const sellerRefused = (refusal: SellerRefusal): ApiError => {
  switch (refusal.reason) {
    case 'not-found':
      return notFound('seller');
    case 'name-taken':
      return new ApiError({
        code: 'CONFLICT',
        message: `Seller ${refusal.sellerId} has this name. Change that one, or choose another name.`,
        field: 'name',
        details: { sellerId: refusal.sellerId },
      });
    case 'too-many-sellers':
      return new ApiError({
        code: 'CONFLICT',
        message: `The directory has ${refusal.limit} sellers, which is the limit. Change one that is not needed.`,
        details: { limit: refusal.limit },
      });
    default:
      return refusal satisfies never;
  }
};
