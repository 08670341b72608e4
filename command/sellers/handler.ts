import { randomUUID } from 'node:crypto';
import {
  INSTALLATION,
  sellerDirectoryAggregate,
  type SellerCommand,
  type SellerRefusal,
} from '../../domain/sellers/seller-directory.ts';
import type { SellerDirectory } from '../../domain/sellers/resource.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { ApiError, notListed } from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';

export const noSeller = (field?: string): ApiError => notListed('seller', 'GET /api/v2/buyer/sellers', field);

const sellerRefused = refusals<SellerRefusal>({
  'not-found': () => noSeller(),
  'name-taken': ({ sellerId }) =>
    new ApiError({
      code: 'CONFLICT',
      message: `Seller ${sellerId} has this name. Change that one, or choose another name.`,
      field: 'name',
      details: { sellerId },
    }),
  'too-many-sellers': ({ limit }) =>
    new ApiError({
      code: 'CONFLICT',
      message: `The directory has ${limit} sellers, which is the limit. Change one that is not needed.`,
      details: { limit },
    }),
});

const { execute, loadAt } = handlerFor(sellerDirectoryAggregate);

export const loadDirectory = async (stores: CommandStores): Promise<SellerDirectory> =>
  (await loadAt(stores, INSTALLATION, undefined)).state;

export const runOnDirectory = async (store: EventStore, command: SellerCommand): Promise<SellerDirectory> => {
  const commandId = randomUUID();
  const context = { commandId, customerId: INSTALLATION, actor: 'operator', requestId: commandId };
  const outcome = await execute({ store }, undefined, command, { context });
  if (outcome.outcome === 'refused') throw sellerRefused(outcome.refusal);
  return outcome.state;
};
