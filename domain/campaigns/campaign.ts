import { accept, refuse, type Decision } from '../decision.ts';
import { changedMembers, contradiction, withChanges } from '../fields.ts';
import { campaignEvents, type CampaignChanges, type CampaignCreated, type CampaignEvent } from './events.ts';
import { campaignResource, type Campaign, type CampaignPhase, type CampaignResource } from './resource.ts';

export const CAMPAIGN = 'campaign';

export const campaignStream = (customerId: number, campaignId: string): string =>
  `${CAMPAIGN}-${customerId}-${campaignId}`;

export type CampaignState = { readonly phase: 'none' } | Campaign;

const initialState = { phase: 'none' } as const;

const evolve = (state: CampaignState, event: CampaignEvent): CampaignState => {
  const at = event.occurredAt;
  if (event.type === 'CampaignCreated') {
    return { ...event.data, phase: 'draft', revision: 1, createdAt: at, updatedAt: at };
  }
  if (state.phase === 'none') return state;
  const next = { ...state, revision: state.revision + 1, updatedAt: at };
  switch (event.type) {
    case 'CampaignUpdated':
      return withChanges(next, event.data.changes);
    case 'CampaignLaunched':
    case 'CampaignReactivated':
      return { ...next, phase: 'active' };
    case 'CampaignPaused':
      return { ...next, phase: 'paused' };
    case 'CampaignCompleted':
      return { ...next, phase: 'completed' };
    case 'CampaignArchived':
      return { ...next, phase: 'archived' };
    default:
      return (event satisfies never, state);
  }
};

export interface CreateCampaign {
  readonly type: 'CreateCampaign';
  readonly now: string;
  readonly campaign: CampaignCreated;
}

export type UnchangeableMember = 'id' | 'advertiserId' | 'phase';

/** Archiving the advertiser at the same time equals archiving it right afterwards: no order matters here. */
interface BelowAdvertiser {
  readonly advertiserIsArchived: boolean;
}

export interface UpdateCampaign extends BelowAdvertiser {
  readonly type: 'UpdateCampaign';
  readonly now: string;
  readonly changes: Omit<CampaignChanges, 'budget'> & {
    readonly budget?: { readonly total: number; readonly currency?: string | undefined } | null | undefined;
  };
  readonly expectedRevision?: number | undefined;
  readonly unchangeable: { readonly [M in UnchangeableMember]?: CampaignResource[M] | undefined };
}

/** `CompleteCampaign` comes from the clock, when the flight is over. */
export type CampaignStep =
  'LaunchCampaign' | 'PauseCampaign' | 'ReactivateCampaign' | 'CompleteCampaign' | 'ArchiveCampaign';

export interface MoveCampaign extends BelowAdvertiser {
  readonly type: CampaignStep;
  readonly now: string;
}

export type CampaignCommand = CreateCampaign | UpdateCampaign | MoveCampaign;

export type CampaignRefusal =
  | { readonly reason: 'not-found' | 'already-exists' | 'advertiser-archived' | 'flight-over' }
  | {
      readonly reason: 'wrong-phase';
      readonly phase: CampaignPhase;
      readonly wanted: readonly CampaignPhase[];
    }
  | { readonly reason: 'stale'; readonly expectedRevision: number; readonly currentRevision: number }
  | { readonly reason: 'other-currency'; readonly currency: string }
  | { readonly reason: 'unchangeable'; readonly member: UnchangeableMember };

type CampaignDecision = Decision<CampaignEvent, CampaignRefusal>;

const create = ({ now, campaign }: CreateCampaign, state: CampaignState): CampaignDecision =>
  state.phase === 'none'
    ? accept({ type: 'CampaignCreated', data: campaign, occurredAt: now })
    : refuse({ reason: 'already-exists' });

const OPEN = ['draft', 'active', 'paused'] as const;

export const isOpen = ({ phase }: Pick<Campaign, 'phase'>): boolean => OPEN.some((open) => open === phase);

const update = (command: UpdateCampaign, state: CampaignState): CampaignDecision => {
  if (state.phase === 'none') return refuse({ reason: 'not-found' });
  if (command.advertiserIsArchived) return refuse({ reason: 'advertiser-archived' });
  const { expectedRevision, unchangeable, now } = command;
  const member = contradiction(unchangeable, campaignResource(state));
  if (member !== undefined) return refuse({ reason: 'unchangeable', member });
  if (expectedRevision !== undefined && expectedRevision !== state.revision) {
    return refuse({ reason: 'stale', expectedRevision, currentRevision: state.revision });
  }
  if (!isOpen(state)) return refuse({ reason: 'wrong-phase', phase: state.phase, wanted: OPEN });
  const { budget, ...members } = command.changes;
  const { currency } = state;
  if ((budget?.currency ?? currency) !== currency) return refuse({ reason: 'other-currency', currency });
  const changes = changedMembers({ ...members, budget: budget && { total: budget.total, currency } }, state);
  if (Object.keys(changes).length === 0) return accept();
  return accept({ type: 'CampaignUpdated', data: { changes }, occurredAt: now });
};

interface Transition {
  readonly from: readonly CampaignPhase[];
  readonly to: CampaignPhase;
  readonly event: Exclude<CampaignEvent['type'], 'CampaignCreated' | 'CampaignUpdated'>;
}

const transitions: Readonly<Record<CampaignStep, Transition>> = {
  LaunchCampaign: { from: ['draft'], to: 'active', event: 'CampaignLaunched' },
  PauseCampaign: { from: ['active'], to: 'paused', event: 'CampaignPaused' },
  ReactivateCampaign: { from: ['paused'], to: 'active', event: 'CampaignReactivated' },
  CompleteCampaign: { from: ['active', 'paused'], to: 'completed', event: 'CampaignCompleted' },
  ArchiveCampaign: { from: [...OPEN, 'completed'], to: 'archived', event: 'CampaignArchived' },
};

const move = ({ type, now, advertiserIsArchived }: MoveCampaign, state: CampaignState): CampaignDecision => {
  if (state.phase === 'none') return refuse({ reason: 'not-found' });
  if (advertiserIsArchived) return refuse({ reason: 'advertiser-archived' });
  const { from, to, event } = transitions[type];
  if (state.phase === to) return accept();
  if (!from.includes(state.phase)) {
    return refuse({ reason: 'wrong-phase', phase: state.phase, wanted: [...from, to] });
  }
  const isOver = state.flight !== undefined && state.flight.endAt <= now;
  if (to === 'active' && isOver) return refuse({ reason: 'flight-over' });
  if (to === 'completed' && !isOver) return accept();
  return accept({ type: event, data: {}, occurredAt: now });
};

const decide = (command: CampaignCommand, state: CampaignState): CampaignDecision => {
  switch (command.type) {
    case 'CreateCampaign':
      return create(command, state);
    case 'UpdateCampaign':
      return update(command, state);
    case 'LaunchCampaign':
    case 'PauseCampaign':
    case 'ReactivateCampaign':
    case 'CompleteCampaign':
    case 'ArchiveCampaign':
      return move(command, state);
    default:
      return command satisfies never;
  }
};

export const campaignFold = {
  category: CAMPAIGN,
  stream: campaignStream,
  events: campaignEvents,
  initialState,
  evolve,
};
export const campaignAggregate = { ...campaignFold, decide };
