import { accept, refuse, type Decision } from '../decision.ts';
import type { OtherCauses } from '../causation.ts';
import {
  syndicationEvents,
  type SyndicationEvent,
  type SyndicationRefreshed,
  type SyndicationRetried,
  type SyndicationSubmitted,
  type SyndicationToggled,
} from './events.ts';
import type { AtAgent, JsonMembers, SyndicationRecord } from './resource.ts';
import {
  isOn,
  isStepFrom,
  isWaiting,
  mayBeThere,
  olderAt,
  steps,
  wasLeftThere,
  type StepName,
} from './syndication-states.ts';

export type { SyndicationRecord } from './resource.ts';

export const SYNDICATION = 'syndication';

/** @param recordId derived from account, advertiser, resource and agent (`resourceIdOf`) */
export const syndicationStream = (customerId: number, recordId: string): string =>
  `${SYNDICATION}-${customerId}-${recordId}`;

export type SyndicationState = { readonly status: 'NONE' } | SyndicationRecord;

export const initialState = { status: 'NONE' } as const;

export const evolve = (state: SyndicationState, event: SyndicationEvent): SyndicationState => {
  const updatedAt = event.occurredAt;
  if (event.type === 'SyndicationToggled') return toggled(state, event.data, updatedAt);
  if (state.status === 'NONE') return state;
  if (event.type === 'SyndicationSubmitted') {
    const { alsoCausedBy: _, ...call } = event.data;
    return { ...state, submitted: { ...call, submittedAt: updatedAt } };
  }
  if (event.type === 'SyndicationRefreshed') return refreshed(state, event.data, updatedAt);
  // A late event of an earlier generation does not affect the present one.
  if (event.data.generation !== state.generation) return state;
  switch (event.type) {
    case 'SyndicationStarted':
      return {
        ...state,
        status: steps.start.to,
        request: event.data.request,
        resourceRevision: event.data.resourceRevision,
        alsoCausedBy: event.data.alsoCausedBy ?? state.alsoCausedBy,
        atAgent: state.atAgent.is === 'NOTHING' ? { is: 'MAYBE' } : state.atAgent,
        submitted: undefined,
        errorMessage: null,
        updatedAt,
      };
    // `updatedAt` stays: an agent is asked to delete for one day after the switch-off.
    case 'SyndicationRetried':
      return { ...state, errorMessage: event.data.errorMessage };
    case 'SyndicationCompleted':
      return {
        ...state,
        status: steps.complete.to,
        atAgent: { is: 'MAYBE' },
        responseData: event.data.responseData,
        errorMessage: null,
        submitted: undefined,
        completedAt: updatedAt,
        updatedAt,
      };
    case 'SyndicationFailed': {
      const { errorMessage } = event.data;
      const atAgent = inexact(state.atAgent);
      return { ...state, status: steps.fail.to, atAgent, errorMessage, submitted: undefined, updatedAt };
    }
    case 'SyndicationWithdrawn': {
      const { removed, reason } = event.data;
      const withdrawal = reason === undefined ? { removed } : { removed, reason };
      return {
        ...state,
        atAgent: { is: removed ? 'NOTHING' : 'LEFT' },
        responseData: { withdrawal },
        errorMessage: null,
        submitted: undefined,
        updatedAt,
      };
    }
    default:
      return (event satisfies never, state);
  }
};

/** After a failure the exact version at the agent is unknown. */
const inexact = (atAgent: AtAgent): AtAgent =>
  atAgent.is === 'EXACTLY' ? { is: 'MAYBE', older: atAgent.older } : atAgent;

/** A resource left at another account of the agent is neither deleted nor updated there. */
const afterToggle = (state: SyndicationState, { enabled, account }: SyndicationToggled): AtAgent => {
  if (state.status === 'NONE') return { is: 'NOTHING' };
  const isLeftHere = wasLeftThere(state) && JSON.stringify(account) === JSON.stringify(state.account);
  if (!isLeftHere && !mayBeThere(state)) return { is: 'NOTHING' };
  if (!enabled) return { is: 'DROPPING' };
  return state.atAgent.is === 'DROPPING' ? state.atAgent : { is: 'MAYBE', older: olderAt(state.atAgent) };
};

const toggled = (state: SyndicationState, data: SyndicationToggled, at: string): SyndicationRecord => {
  const { enabled, errorMessage, ...place } = data;
  return {
    ...place,
    status: (enabled ? steps.on : steps.off).to,
    atAgent: afterToggle(state, data),
    request: null,
    submitted: state.status === 'NONE' ? undefined : state.submitted,
    errorMessage: errorMessage ?? null,
    responseData: null,
    completedAt: null,
    createdAt: state.status === 'NONE' ? at : state.createdAt,
    updatedAt: at,
  };
};

const refreshed = (
  state: SyndicationRecord,
  { generation, resourceRevision, alsoCausedBy }: SyndicationRefreshed,
  updatedAt: string,
): SyndicationRecord => ({
  ...state,
  status: steps.refresh.to,
  atAgent: state.request === null ? state.atAgent : { is: 'EXACTLY', older: state.request },
  generation,
  resourceRevision,
  alsoCausedBy,
  request: null,
  errorMessage: null,
  responseData: null,
  completedAt: null,
  updatedAt,
});

export interface ToggleSyndication {
  readonly type: 'ToggleSyndication';
  readonly now: string;
  readonly record: Omit<SyndicationToggled, 'generation' | 'enabled'>;
  readonly enabled: boolean;
}

interface GenerationCommand {
  readonly now: string;
  readonly generation: number;
}

interface ChangeCauses {
  readonly resourceRevision?: number | undefined;
  readonly alsoCausedBy?: OtherCauses;
}

export type SyndicationCommand =
  | ToggleSyndication
  | (GenerationCommand &
      ChangeCauses & {
        readonly type: 'RefreshSyndication';
      })
  | (GenerationCommand & ChangeCauses & { readonly type: 'StartSyndication'; readonly request: JsonMembers })
  | (GenerationCommand & SyndicationSubmitted & { readonly type: 'SubmitSyndication' })
  | (GenerationCommand & Omit<SyndicationRetried, 'alsoCausedBy'> & { readonly type: 'RetrySyndication' })
  | (GenerationCommand & { readonly type: 'CompleteSyndication'; readonly responseData: JsonMembers })
  | (GenerationCommand & { readonly type: 'FailSyndication'; readonly errorMessage: string })
  | (GenerationCommand & {
      readonly type: 'WithdrawSyndication';
      readonly removed: boolean;
      readonly reason?: string | undefined;
    });

export interface SyndicationRefusal {
  /** The generation is over, or is not in a state that allows the command. */
  readonly reason: 'superseded';
}

type StartSyndication = Extract<SyndicationCommand, { readonly type: 'StartSyndication' }>;
type SyndicationDecision = Decision<SyndicationEvent, SyndicationRefusal>;

/**
 * Keeps the account reference while the agent may have the resource: a delete for another account, e.g. after
 * a change of brand, would leave it there forever. Repeats retry a FAILED record, or a delete that the agent
 * could not be asked for.
 */
const toggle = (command: ToggleSyndication, state: SyndicationState): SyndicationDecision => {
  const { record, enabled, now } = command;
  const isToBeDropped = !enabled && state.status !== 'NONE' && wasLeftThere(state);
  const isSo = state.status !== 'NONE' && isOn(state) === enabled;
  if (isSo && state.status !== 'FAILED' && !isToBeDropped) return accept();
  const generation = state.status === 'NONE' ? 1 : state.generation + 1;
  const { account } = state.status !== 'NONE' && (mayBeThere(state) || isToBeDropped) ? state : record;
  const data = { ...record, account, enabled, generation };
  return accept({ type: 'SyndicationToggled', data, occurredAt: now });
};

const start = (
  { generation, request, resourceRevision, alsoCausedBy = [] }: StartSyndication,
  occurredAt: string,
  { status, alsoCausedBy: known = [] }: SyndicationRecord,
): SyndicationDecision => {
  if (status === steps.start.to) return accept();
  const isKnown = ({ correlationId }: OtherCauses[number]): boolean =>
    known.some((one) => one.correlationId === correlationId);
  const all = [...known, ...alsoCausedBy.filter((cause) => !isKnown(cause))];
  const data = { generation, request, ...ofChanges({ resourceRevision, alsoCausedBy: all }) };
  return accept({ type: 'SyndicationStarted', data, occurredAt });
};

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
 * The first id counts: an agent with another id in each answer would be polled forever. An ended generation
 * may have a task until a later one has made a request.
 */
const submit = (
  data: SyndicationSubmitted,
  occurredAt: string,
  record: SyndicationRecord,
): SyndicationDecision => {
  const { status, generation, submitted } = record;
  const isKnown =
    submitted?.generation === data.generation && submitted.idempotencyKey === data.idempotencyKey;
  if (isKnown) return accept();
  const isAsking = isWaiting(record) && status !== 'PENDING';
  const isBeforeAsking = isWaiting(record) && status !== 'SYNCING';
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
  if (state.generation !== generation || !mayFollow(command.type, state)) {
    return refuse({ reason: 'superseded' });
  }
  const shared = ofChanges({ alsoCausedBy: state.alsoCausedBy });
  switch (command.type) {
    case 'RefreshSyndication': {
      const data = { generation: generation + 1, ...ofChanges(command) };
      return accept({ type: 'SyndicationRefreshed', data, occurredAt });
    }
    case 'StartSyndication':
      return start(command, occurredAt, state);
    case 'RetrySyndication': {
      if (!isWaiting(state)) return accept();
      const { attempt, errorMessage, dueAt } = command;
      const data = { generation, attempt, errorMessage, dueAt, ...shared };
      return accept({ type: 'SyndicationRetried', data, occurredAt });
    }
    case 'CompleteSyndication': {
      const data = { generation, responseData: command.responseData, ...shared };
      return accept({ type: 'SyndicationCompleted', data, occurredAt });
    }
    case 'FailSyndication': {
      const data = { generation, errorMessage: command.errorMessage, ...shared };
      return accept({ type: 'SyndicationFailed', data, occurredAt });
    }
    case 'WithdrawSyndication': {
      if (!isWaiting(state)) return accept();
      const { removed, reason } = command;
      const data = { generation, removed, ...(reason === undefined ? {} : { reason }), ...shared };
      return accept({ type: 'SyndicationWithdrawn', data, occurredAt });
    }
    default:
      return command satisfies never;
  }
};

type WorkerCommandType = Exclude<SyndicationCommand['type'], 'ToggleSyndication' | 'SubmitSyndication'>;

const stepOf: Readonly<Record<WorkerCommandType, StepName>> = {
  RefreshSyndication: 'refresh',
  StartSyndication: 'start',
  RetrySyndication: 'retry',
  CompleteSyndication: 'complete',
  FailSyndication: 'fail',
  WithdrawSyndication: 'withdraw',
};

const mayFollow = (type: WorkerCommandType, { status }: SyndicationRecord): boolean =>
  isStepFrom(stepOf[type], status) || (type === 'StartSyndication' && status === steps.start.to);

export const syndicationFold = {
  category: SYNDICATION,
  stream: syndicationStream,
  events: syndicationEvents,
  foldVersion: 4,
  initialState,
  evolve,
};
export const syndicationAggregate = { ...syndicationFold, decide };
