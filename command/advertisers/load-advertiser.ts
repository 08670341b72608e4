import type { AdvertiserResource } from '../../domain/advertisers/advertiser-resource.ts';
import { advertiserAggregate } from '../../domain/advertisers/advertiser.ts';
import { handlerFor, type CommandRequest, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { advertiserRefused } from './advertiser-refusals.ts';

/** Commands on advertisers. `loadAdvertiser` also finds one that is archived. */
export const {
  run: runOnAdvertiser,
  execute: executeOnAdvertiser,
  load: loadAdvertiser,
} = handlerFor(advertiserAggregate, advertiserRefused);

/**
 * An advertiser below which something may be written: its stream is asked, so that no read model has to be up to date.
 * @throws ApiError NOT_FOUND when the account has no such advertiser, CONFLICT when it is archived (decisions.md 3)
 */
export const writableAdvertiser = async (
  stores: CommandStores,
  customerId: number,
  advertiserId: number,
): Promise<AdvertiserResource> => {
  const advertiser = await loadAdvertiser(stores, customerId, advertiserId);
  if (advertiser === undefined) throw advertiserRefused({ reason: 'not-found' });
  if (advertiser.status === 'ARCHIVED') throw advertiserRefused({ reason: 'archived' });
  return advertiser;
};

/**
 * Locks the currency, for something that a request is about to create below the advertiser.
 * @param currency what it must be, as far as the request minds
 * @returns the currency, from now on for good
 * @throws ApiError NOT_FOUND, CONFLICT (archived), VALIDATION_ERROR (another currency)
 */
export const lockCurrency = async (
  stores: CommandStores,
  advertiserId: number,
  currency: string | undefined,
  now: string,
  request: CommandRequest,
): Promise<string> => {
  const command = { type: 'LockAdvertiserCurrency', now, currency } as const;
  const own = { ...request, commandId: derivedId(request.commandId, 'lock-currency') };
  return (await runOnAdvertiser(stores, advertiserId, command, own)).primaryCurrency;
};
