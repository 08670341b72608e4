import { accept, refuse, type Decider, type Decision } from '../decision.ts';
import type { OtherCauses } from '../history/other-causes.ts';
import type {
  SyndicationEvent,
  SyndicationRefreshed,
  SyndicationSubmitted,
  SyndicationToggled,
} from './syndication-events.ts';
import { wasLeftThere, type JsonMembers, type SyndicationRecord } from './syndication-resource.ts';

export type { SyndicationRecord } from './syndication-resource.ts';

/** Category of the streams: their names begin with it. */
export const SYNDICATION = 'syndication';

/**
 * The stream of one record; the account is part of its name.
 * @param recordId UUID that follows from the account, the advertiser, the resource and the agent (`resourceIdOf`)
 */
export const syndicationStream = (customerId: number, recordId: string): string =>
  `${SYNDICATION}-${customerId}-${recordId}`;

export type SyndicationState = { readonly status: 'NONE' } | SyndicationRecord;

export const initialState: SyndicationState = { status: 'NONE' };

export const evolve = (state: SyndicationState, event: SyndicationEvent): SyndicationState => {
  const updatedAt = event.occurredAt;
  if (event.type === 'SyndicationToggled') return toggled(state, event.data, updatedAt);
  if (state.status === 'NONE') return state;
  if (event.type === 'SyndicationSubmitted') {
    const { alsoCausedBy: _, ...call } = event.data;
    return { ...state, submitted: { ...call, submittedAt: updatedAt } };
  }
  if (event.type === 'SyndicationRefreshed') return refreshed(state, event.data, updatedAt);
  // What a generation led to says nothing of the next one, however late it comes.
  if (event.data.generation !== state.generation) return state;
  switch (event.type) {
    case 'SyndicationStarted':
      return {
        ...state,
        status: 'SYNCING',
        request: event.data.request,
        resourceRevision: event.data.resourceRevision,
        alsoCausedBy: event.data.alsoCausedBy ?? state.alsoCausedBy,
        mayBeAtAgent: true,
        submitted: undefined,
        updatedAt,
      };
    case 'SyndicationCompleted':
      return {
        ...state,
        status: 'COMPLETED',
        responseData: event.data.responseData,
        stillThere: undefined,
        restIsUnsure: undefined,
        submitted: undefined,
        completedAt: updatedAt,
        updatedAt,
      };
    case 'SyndicationFailed': {
      const { errorMessage } = event.data;
      return { ...state, status: 'FAILED', errorMessage, submitted: undefined, updatedAt };
    }
    case 'SyndicationWithdrawn': {
      const { removed, reason } = event.data;
      const withdrawal = reason === undefined ? { removed } : { removed, reason };
      return {
        ...state,
        mayBeAtAgent: false,
        responseData: { withdrawal },
        restIsUnsure: undefined,
        submitted: undefined,
        updatedAt,
      };
    }
    default:
      return (event satisfies never, state);
  }
};

/** What is pending may be there, too: an agent that is to drop something else is told of it among what stays. */
const agentMayHave = (state: SyndicationState): boolean =>
  state.status !== 'NONE' && (state.mayBeAtAgent || state.status === 'PENDING');

/** Only of the account that it is at; with another one there is nothing to begin anew. */
const wasLeftAt = (state: SyndicationState, { account }: SyndicationToggled): boolean =>
  state.status !== 'NONE' && wasLeftThere(state) && JSON.stringify(account) === JSON.stringify(state.account);

/** Its dropping began, and has not come to its end. */
const isRestUnsure = (state: SyndicationState): true | undefined =>
  state.status !== 'NONE' &&
  (state.restIsUnsure === true || (state.status === 'DISABLED' && state.mayBeAtAgent))
    ? true
    : undefined;

const toggled = (state: SyndicationState, data: SyndicationToggled, at: string): SyndicationRecord => ({
  ...data,
  status: data.enabled ? 'PENDING' : 'DISABLED',
  request: null,
  delivered: null,
  stillThere: data.enabled && state.status !== 'NONE' ? state.stillThere : undefined,
  mayBeAtAgent: agentMayHave(state) || wasLeftAt(state, data),
  restIsUnsure: isRestUnsure(state),
  submitted: state.status === 'NONE' ? undefined : state.submitted,
  errorMessage: null,
  responseData: null,
  completedAt: null,
  createdAt: state.status === 'NONE' ? at : state.createdAt,
  updatedAt: at,
});

const refreshed = (
  state: SyndicationRecord,
  { generation, resourceRevision, alsoCausedBy }: SyndicationRefreshed,
  updatedAt: string,
): SyndicationRecord => ({
  ...state,
  status: 'PENDING',
  generation,
  resourceRevision,
  alsoCausedBy,
  request: null,
  delivered: state.request,
  stillThere: state.request ?? undefined,
  errorMessage: null,
  responseData: null,
  completedAt: null,
  updatedAt,
});

/** Switches a resource's syndication to an agent on or off. */
export interface ToggleSyndication {
  readonly type: 'ToggleSyndication';
  readonly now: string;
  readonly record: Omit<SyndicationToggled, 'generation' | 'enabled'>;
  readonly enabled: boolean;
}

/** What the worker found out about one generation. */
interface OfGeneration {
  readonly now: string;
  readonly generation: number;
}

/** What the worker found out about who has changed the resource. */
interface OfChanges {
  /** Up to which it was looked. Default: it is not known. */
  readonly resourceRevision?: number | undefined;
  /** Requests that this follows from, beside those that the generation has already. Default: none. */
  readonly alsoCausedBy?: OtherCauses;
}

export type SyndicationCommand =
  | ToggleSyndication
  | (OfGeneration &
      OfChanges & {
        readonly type: 'RefreshSyndication';
      })
  | (OfGeneration & OfChanges & { readonly type: 'StartSyndication'; readonly request: JsonMembers })
  | (OfGeneration & SyndicationSubmitted & { readonly type: 'SubmitSyndication' })
  | (OfGeneration & { readonly type: 'CompleteSyndication'; readonly responseData: JsonMembers })
  | (OfGeneration & { readonly type: 'FailSyndication'; readonly errorMessage: string })
  | (OfGeneration & {
      readonly type: 'WithdrawSyndication';
      readonly removed: boolean;
      readonly reason?: string | undefined;
    });

export interface SyndicationRefusal {
  /** The generation is over, or is not where this could happen to it. */
  readonly reason: 'superseded';
}

type StartSyndication = Extract<SyndicationCommand, { readonly type: 'StartSyndication' }>;
type SyndicationDecision = Decision<SyndicationEvent, SyndicationRefusal>;

/**
 * What the agent may have stays where it is: the advertiser's brand may have changed since, and telling the agent to
 * drop it from another account would leave it there for ever.
 *
 * Switching on what failed tries it again, and switching off what the agent could not be told to drop tells it again.
 * Anything else that is so already changes nothing.
 */
const toggle = (command: ToggleSyndication, state: SyndicationState): SyndicationDecision => {
  const { record, enabled, now } = command;
  const isToBeDropped = !enabled && state.status !== 'NONE' && wasLeftThere(state);
  const hasEnded = state.status === 'FAILED' || isToBeDropped;
  if (state.status !== 'NONE' && state.enabled === enabled && !hasEnded) return accept();
  const generation = state.status === 'NONE' ? 1 : state.generation + 1;
  const { account } = state.status !== 'NONE' && (agentMayHave(state) || isToBeDropped) ? state : record;
  const data = { ...record, account, enabled, generation };
  return accept({ type: 'SyndicationToggled', data, occurredAt: now });
};

const start = (
  { generation, request, resourceRevision, alsoCausedBy = [] }: StartSyndication,
  occurredAt: string,
  { status, alsoCausedBy: known = [] }: SyndicationRecord,
): SyndicationDecision => {
  if (status === 'SYNCING') return accept();
  if (status !== 'PENDING') return refuse({ reason: 'superseded' });
  const isKnown = ({ correlationId }: OtherCauses[number]): boolean =>
    known.some((one) => one.correlationId === correlationId);
  const all = [...known, ...alsoCausedBy.filter((cause) => !isKnown(cause))];
  const data = { generation, request, ...ofChanges({ resourceRevision, alsoCausedBy: all }) };
  return accept({ type: 'SyndicationStarted', data, occurredAt });
};

/** As events have it: what there is none of is left out. */
const ofChanges = ({
  resourceRevision,
  alsoCausedBy = [],
}: {
  readonly resourceRevision?: number | undefined;
  readonly alsoCausedBy?: OtherCauses | undefined;
}): { readonly resourceRevision?: number; readonly alsoCausedBy?: OtherCauses } => ({
  ...(resourceRevision === undefined ? {} : { resourceRevision }),
  ...(alsoCausedBy.length === 0 ? {} : { alsoCausedBy }),
});

/**
 * The first id of a call counts: an agent that gives another one with every answer would be followed for ever. A
 * generation that is over may still have something under way, as long as a later one has not asked for anything.
 */
const submit = (
  data: SyndicationSubmitted,
  occurredAt: string,
  { status, generation, mayBeAtAgent, submitted }: SyndicationRecord,
): SyndicationDecision => {
  const isKnown =
    submitted?.generation === data.generation && submitted.idempotencyKey === data.idempotencyKey;
  if (isKnown) return accept();
  const isAsking = status === 'SYNCING' || (status === 'DISABLED' && mayBeAtAgent);
  const isBeforeAsking = status === 'PENDING' || (status === 'DISABLED' && mayBeAtAgent);
  const isLater = submitted !== undefined && submitted.generation > data.generation;
  const mayBe = data.generation === generation ? isAsking : data.generation < generation && isBeforeAsking;
  if (!mayBe || isLater) return refuse({ reason: 'superseded' });
  return accept({ type: 'SyndicationSubmitted', data, occurredAt });
};

const decide = (command: SyndicationCommand, state: SyndicationState): SyndicationDecision => {
  if (command.type === 'ToggleSyndication') return toggle(command, state);
  const { generation, now: occurredAt } = command;
  if (state.status === 'NONE') return refuse({ reason: 'superseded' });
  if (command.type === 'SubmitSyndication') {
    const { idempotencyKey, taskId, taskOf, alsoCausedBy } = command;
    const data = { generation, idempotencyKey, taskId, taskOf, ...ofChanges({ alsoCausedBy }) };
    return submit(data, occurredAt, state);
  }
  if (state.generation !== generation) return refuse({ reason: 'superseded' });
  const shared = ofChanges({ alsoCausedBy: state.alsoCausedBy });
  switch (command.type) {
    case 'RefreshSyndication': {
      if (state.status !== 'COMPLETED') return refuse({ reason: 'superseded' });
      const data = { generation: generation + 1, ...ofChanges(command) };
      return accept({ type: 'SyndicationRefreshed', data, occurredAt });
    }
    case 'StartSyndication':
      return start(command, occurredAt, state);
    case 'CompleteSyndication': {
      if (state.status !== 'SYNCING') return refuse({ reason: 'superseded' });
      const data = { generation, responseData: command.responseData, ...shared };
      return accept({ type: 'SyndicationCompleted', data, occurredAt });
    }
    case 'FailSyndication': {
      if (state.status !== 'PENDING' && state.status !== 'SYNCING') return refuse({ reason: 'superseded' });
      const data = { generation, errorMessage: command.errorMessage, ...shared };
      return accept({ type: 'SyndicationFailed', data, occurredAt });
    }
    case 'WithdrawSyndication': {
      if (state.status !== 'DISABLED') return refuse({ reason: 'superseded' });
      if (!state.mayBeAtAgent) return accept();
      const { removed, reason } = command;
      const data = { generation, removed, ...(reason === undefined ? {} : { reason }), ...shared };
      return accept({ type: 'SyndicationWithdrawn', data, occurredAt });
    }
    default:
      return command satisfies never;
  }
};

export const syndicationDecider: Decider<
  SyndicationState,
  SyndicationCommand,
  SyndicationEvent,
  SyndicationRefusal
> = { initialState, evolve, decide };
