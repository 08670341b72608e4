import { accept, refuse, type Decision } from '../decision.ts';
import {
  proposalRequestEvents,
  type ProposalRequestEvent,
  type ProposalsRequested,
  type ReasonCode,
  type SellerAnswer,
} from './events.ts';

const PROPOSAL_REQUEST = 'proposalRequest';

export const proposalRequestStream = (customerId: number, executionId: string): string =>
  `${PROPOSAL_REQUEST}-${customerId}-${executionId}`;

/** A task that the seller has accepted and finishes later. */
export interface SellerTask {
  readonly taskId: string;
  readonly taskOf: 'ADCP' | 'A2A';
  readonly acceptedAt: string;
}

export interface AskedSeller {
  readonly sellerId: number;
  readonly name: string;
  readonly status: 'pending' | 'quoted' | 'products' | 'failed';
  readonly task?: SellerTask;
  readonly answer?: SellerAnswer;
  readonly failure?: {
    readonly kind: 'failed' | 'skipped';
    readonly reasonCode: ReasonCode;
    readonly code: string;
    readonly message: string;
  };
  /** When a late answer arrived: after the seller's time. */
  readonly lateAt?: string;
}

export interface ProposalRequest extends Omit<ProposalsRequested, 'sellers'> {
  readonly status: 'running' | 'complete' | 'partial' | 'failed';
  readonly sellers: readonly AskedSeller[];
  /** Sellers in the order of their answers: what a page has shown stays where it was. */
  readonly answered: readonly number[];
  readonly startedAt: string;
  readonly completedAt?: string;
  readonly updatedAt: string;
}

export type ProposalRequestState = { readonly status: 'none' } | ProposalRequest;

const initialState = { status: 'none' } as const;

const TIMED_OUT = {
  kind: 'failed',
  reasonCode: 'timeout',
  code: 'TIMEOUT',
  message: 'The seller did not answer in time.',
} as const;

const begun = ({ sellers, ...requested }: ProposalsRequested, startedAt: string): ProposalRequest => ({
  ...requested,
  status: 'running',
  sellers: sellers.map(({ skipped, ...seller }) =>
    skipped === undefined
      ? { ...seller, status: 'pending' }
      : { ...seller, status: 'failed', failure: { kind: 'skipped', reasonCode: 'eligibility', ...skipped } },
  ),
  answered: [],
  startedAt,
  updatedAt: startedAt,
});

const changed = (
  state: ProposalRequest,
  sellerId: number,
  occurredAt: string,
  change: (seller: AskedSeller) => AskedSeller,
): ProposalRequest => ({
  ...state,
  sellers: state.sellers.map((seller) => (seller.sellerId === sellerId ? change(seller) : seller)),
  updatedAt: occurredAt,
});

const answeredBy = (
  { answered, ...state }: ProposalRequest,
  sellerId: number,
  occurredAt: string,
  { answer, isLate }: { readonly answer: SellerAnswer; readonly isLate: boolean },
): ProposalRequest =>
  changed(
    { ...state, answered: [...answered, sellerId] },
    sellerId,
    occurredAt,
    ({ failure: _before, ...seller }) => ({
      ...seller,
      status: answer.proposalIds.length > 0 ? 'quoted' : 'products',
      answer,
      ...(isLate && { lateAt: occurredAt }),
    }),
  );

const evolve = (state: ProposalRequestState, event: ProposalRequestEvent): ProposalRequestState => {
  const { occurredAt } = event;
  if (event.type === 'ProposalsRequested') return begun(event.data, occurredAt);
  if (state.status === 'none') return state;
  switch (event.type) {
    case 'SellerTaskAccepted': {
      const { sellerId, ...task } = event.data;
      const accepted = { ...task, acceptedAt: occurredAt };
      return changed(state, sellerId, occurredAt, (seller) => ({ ...seller, task: accepted }));
    }
    case 'SellerAnswered': {
      const { sellerId, ...answer } = event.data;
      return answeredBy(state, sellerId, occurredAt, { answer, isLate: false });
    }
    case 'LateAnswerRecorded': {
      const { sellerId, advertiserId: _owner, campaignId: _campaign, ...answer } = event.data;
      return answeredBy(state, sellerId, occurredAt, { answer, isLate: true });
    }
    case 'SellerTimedOut':
      return changed(state, event.data.sellerId, occurredAt, (seller) => ({
        ...seller,
        status: 'failed',
        failure: TIMED_OUT,
      }));
    case 'SellerFailed': {
      const { sellerId, ...why } = event.data;
      const failure = { kind: 'failed', ...why } as const;
      return changed(state, sellerId, occurredAt, (seller) => ({ ...seller, status: 'failed', failure }));
    }
    case 'ProposalRequestCompleted':
      return { ...state, status: event.data.status, completedAt: occurredAt, updatedAt: occurredAt };
    default:
      return (event satisfies never, state);
  }
};

interface OfSeller<Type extends string> {
  readonly type: Type;
  readonly now: string;
  readonly sellerId: number;
}

export type ProposalRequestCommand =
  | { readonly type: 'RequestProposals'; readonly now: string; readonly requested: ProposalsRequested }
  | (OfSeller<'RecordTask'> & Omit<SellerTask, 'acceptedAt'>)
  | (OfSeller<'RecordAnswer'> & { readonly answer: SellerAnswer })
  | (OfSeller<'RecordFailure'> & {
      readonly reasonCode: 'transport' | 'protocol';
      readonly code: string;
      readonly message: string;
    })
  | OfSeller<'RecordTimeout'>
  /** Before the deadline it changes nothing. */
  | { readonly type: 'CloseRound'; readonly now: string };

export type ProposalRequestRefusal = { readonly reason: 'not-found' | 'already-exists' };

/** Appends the completion when no seller is awaited any more. A completed round is never opened again. */
const settled = (
  state: ProposalRequest,
  now: string,
  ...events: readonly ProposalRequestEvent[]
): readonly ProposalRequestEvent[] => {
  const after = events.reduce(evolve, state as ProposalRequestState);
  if (after.status !== 'running') return events;
  const { sellers, deadlineAt, advertiserId, campaignId } = after;
  const isAwaited = ({ status, task }: AskedSeller): boolean =>
    status === 'pending' && (task === undefined || now < deadlineAt);
  if (sellers.some(isAwaited)) return events;
  const status = endOf(sellers);
  const data = { advertiserId, campaignId, status };
  return [...events, { type: 'ProposalRequestCompleted', data, occurredAt: now }];
};

const endOf = (sellers: readonly AskedSeller[]): 'complete' | 'partial' | 'failed' => {
  const count = (...statuses: readonly AskedSeller['status'][]): number =>
    sellers.filter(({ status }) => statuses.includes(status)).length;
  if (count('failed') === sellers.length) return 'failed';
  return count('quoted', 'products') === sellers.length ? 'complete' : 'partial';
};

const answerEvents = (
  state: ProposalRequest,
  seller: AskedSeller,
  { now: occurredAt, answer }: Extract<ProposalRequestCommand, { readonly type: 'RecordAnswer' }>,
): readonly ProposalRequestEvent[] => {
  const { sellerId } = seller;
  // A skipped seller was never asked, and only the first answer counts.
  if (seller.answer !== undefined || seller.failure?.kind === 'skipped') return [];
  const isInTime =
    state.status === 'running' && seller.status === 'pending' && occurredAt <= state.deadlineAt;
  if (isInTime) return [{ type: 'SellerAnswered', data: { sellerId, ...answer }, occurredAt }];
  const { advertiserId, campaignId } = state;
  return [
    { type: 'LateAnswerRecorded', data: { sellerId, advertiserId, campaignId, ...answer }, occurredAt },
  ];
};

const decide = (
  command: ProposalRequestCommand,
  state: ProposalRequestState,
): Decision<ProposalRequestEvent, ProposalRequestRefusal> => {
  const { now: occurredAt } = command;
  if (command.type === 'RequestProposals') {
    if (state.status !== 'none') return refuse({ reason: 'already-exists' });
    const { requested } = command;
    const first = { type: 'ProposalsRequested', data: requested, occurredAt } as const;
    return accept(first, ...settled(begun(requested, occurredAt), occurredAt));
  }
  if (state.status === 'none') return refuse({ reason: 'not-found' });
  if (command.type === 'CloseRound') {
    if (state.status !== 'running' || occurredAt < state.deadlineAt) return accept();
    const silent = state.sellers.filter(({ status, task }) => status === 'pending' && task === undefined);
    const events = silent.map(
      ({ sellerId }) => ({ type: 'SellerTimedOut', data: { sellerId }, occurredAt }) as const,
    );
    return accept(...settled(state, occurredAt, ...events));
  }
  const seller = state.sellers.find(({ sellerId }) => sellerId === command.sellerId);
  if (seller === undefined) return refuse({ reason: 'not-found' });
  const { sellerId, status, task } = seller;
  if (command.type === 'RecordAnswer') {
    const events = answerEvents(state, seller, command);
    return accept(...(events.length === 0 ? [] : settled(state, occurredAt, ...events)));
  }
  if (status !== 'pending') return accept();
  switch (command.type) {
    case 'RecordTask': {
      const { taskId, taskOf } = command;
      if (task !== undefined) return accept();
      return accept({ type: 'SellerTaskAccepted', data: { sellerId, taskId, taskOf }, occurredAt });
    }
    case 'RecordFailure': {
      const { reasonCode, code, message } = command;
      const data = { sellerId, reasonCode, code, message };
      return accept(...settled(state, occurredAt, { type: 'SellerFailed', data, occurredAt }));
    }
    case 'RecordTimeout':
      return accept(
        ...settled(state, occurredAt, { type: 'SellerTimedOut', data: { sellerId }, occurredAt }),
      );
    default:
      return command satisfies never;
  }
};

export const proposalRequestFold = {
  category: PROPOSAL_REQUEST,
  stream: proposalRequestStream,
  events: proposalRequestEvents,
  initialState,
  evolve,
};
export const proposalRequestAggregate = { ...proposalRequestFold, decide };
