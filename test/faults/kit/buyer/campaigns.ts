import {
  campaignIdOf,
  campaignResource,
  type Campaign,
  type CampaignPhase,
} from '../../../../domain/campaigns/resource.ts';
import { campaignStream } from '../../../../domain/campaigns/campaign.ts';
import type { ResultContext, Command, Data, Reading } from '../command.ts';
import type { Random } from '../random.ts';
import { REFUSED_PROBABILITY, type Choice, type ClientState, type OwnCampaign } from './client-state.ts';

const path = '/api/v2/buyer/campaigns';

const answer = ({ state }: ResultContext): unknown => campaignResource(state as Campaign);

const reading = (data: Data): Reading => ({ url: `${path}/${String(data['id'])}`, shown: data });

export const createCampaign = (own: ClientState, home: { readonly id: number }, key: string): Command => ({
  kind: `create campaign ${key}`,
  method: 'POST',
  url: path,
  body: { advertiserId: home.id, name: key, budget: { total: 100 } },
  sent: 'keyed',
  expected: 'ok',
  status: 201,
  event: 'CampaignCreated',
  otherEvents: { AdvertiserCurrencyLocked: [0, 1] },
  stream: ({ id }) => campaignStream(own.customerId, campaignIdOf(id as string) ?? ''),
  answer,
  done: (data) => {
    own.campaigns.push({ id: data['id'] as string, phase: 'draft', revision: 1 });
    return reading(data);
  },
  lost: () => undefined,
});

interface Step {
  readonly action: string;
  readonly from: CampaignPhase;
  readonly to: CampaignPhase;
  readonly event: string;
}

const steps: readonly Step[] = [
  { action: 'execute', from: 'draft', to: 'active', event: 'CampaignLaunched' },
  { action: 'pause', from: 'active', to: 'paused', event: 'CampaignPaused' },
  { action: 'reactivate', from: 'paused', to: 'active', event: 'CampaignReactivated' },
];

export const commandOnCampaign = (
  own: ClientState,
  target: OwnCampaign,
  key: string,
  random: Random,
): Choice => {
  const url = `${path}/${target.id}`;
  const isArchived = target.phase === 'archived';
  const changed = (data: Data): Reading => {
    target.phase = data['phase'] as CampaignPhase;
    target.revision = data['revision'] as number;
    return reading(data);
  };
  const base = {
    sent: 'keyed',
    expected: isArchived ? 'refused' : 'ok',
    status: 200,
    stream: () => campaignStream(own.customerId, campaignIdOf(target.id) ?? ''),
    answer,
    done: changed,
    lost: () => void own.campaigns.splice(own.campaigns.indexOf(target), 1),
  } satisfies Partial<Command>;
  const choice = random.next();
  if (choice < 0.1 && !isArchived) {
    return {
      ...base,
      kind: `archive campaign ${target.id}`,
      method: 'DELETE',
      url,
      status: 204,
      event: 'CampaignArchived',
      done: () => {
        target.phase = 'archived';
        target.revision += 1;
        return { url, shown: { id: target.id, phase: 'archived', revision: target.revision } };
      },
    };
  }
  const step = steps.find(({ from }) => from === target.phase) ?? random.pick(steps);
  if (choice < 0.6) {
    return {
      ...base,
      kind: `${step.action} campaign ${target.id}`,
      method: 'POST',
      url: `${url}/${step.action}`,
      event: step.event,
    };
  }
  const isStale = !isArchived && random.chance(REFUSED_PROBABILITY * 2);
  return {
    ...base,
    kind: `update campaign ${target.id}`,
    method: 'PUT',
    url,
    body: { name: key, expectedRevision: target.revision + (isStale ? 1 : 0) },
    expected: isArchived || isStale ? 'refused' : 'ok',
    event: 'CampaignUpdated',
  };
};
