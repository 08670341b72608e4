import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { advertiserAggregate, type AdvertiserRefusal } from '../../domain/advertisers/advertiser.ts';
import { handlerFor, type CommandRequest, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { alreadyExists, ApiError, conflict, invalid, notFound } from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';

export const advertiserRefused = refusals<AdvertiserRefusal>({
  'not-found': () => notFound('advertiser'),
  'not-archived': () => new ApiError({ code: 'NOT_FOUND', message: 'No archived advertiser with this id.' }),
  'already-exists': () => alreadyExists('advertiser'),
  archived: () => conflict('The advertiser is archived. Restore it first, then repeat the change.'),
  'currency-locked': () =>
    conflict(
      'The currency is locked since the first campaign. Leave it out, or create another advertiser.',
      'primaryCurrency',
    ),
  'other-currency': ({ currency }) =>
    invalid(
      `The advertiser's currency is ${currency}. Leave the currency out, or send that one.`,
      'budget.currency',
    ),
  unchangeable: ({ member }) =>
    invalid(`${member} cannot be changed. Leave it out, or send its current value.`, member),
});

export const {
  run: runOnAdvertiser,
  execute: executeOnAdvertiser,
  load: loadAdvertiser,
} = handlerFor(advertiserAggregate, advertiserRefused);

/** Not from a read model, which may lag. @throws ApiError NOT_FOUND, CONFLICT when it is archived */
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

/** @param currency undefined accepts any @throws ApiError NOT_FOUND, CONFLICT (archived), VALIDATION_ERROR */
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
