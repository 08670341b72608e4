import { campaignAggregate, type CampaignRefusal } from '../../domain/campaigns/campaign.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { Clock } from '../../shared/async/clock.ts';
import {
  alreadyExists,
  ApiError,
  conflict,
  invalid,
  notFound,
  staleRevision,
} from '../../shared/http/errors.ts';
import { refusals } from '../../shared/http/refusals.ts';
import { advertiserRefused } from '../advertisers/handler.ts';

export interface CampaignStores extends Required<CommandStores> {
  readonly clock: Clock;
}

export const campaignRefused = refusals<CampaignRefusal>({
  'not-found': () => notFound('campaign'),
  'already-exists': () => alreadyExists('campaign'),
  'advertiser-archived': () => advertiserRefused({ reason: 'archived' }),
  'flight-over': () =>
    conflict(
      'The flight is over. Give the campaign a flight that ends in the future, then repeat.',
      'flight.endAt',
    ),
  'wrong-phase': ({ phase, wanted }) =>
    new ApiError({
      code: 'CONFLICT',
      message: `The campaign is ${phase}. This is possible only while it is ${wanted.join(', ')}.`,
      details: { phase },
    }),
  stale: ({ expectedRevision, currentRevision }) =>
    staleRevision('campaign', expectedRevision, currentRevision),
  'other-currency': (refusal) => advertiserRefused(refusal),
  unchangeable: ({ member }) =>
    invalid(`${member} cannot be changed so. Leave it out, or send its current value.`, member),
});

export const {
  run: runOnCampaign,
  create: createNewCampaign,
  execute: executeOnCampaign,
  load: loadCampaign,
} = handlerFor(campaignAggregate, campaignRefused);
