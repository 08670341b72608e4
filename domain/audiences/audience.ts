import { accept, type Decision } from '../decision.ts';
import { membersOf } from '../fields.ts';
import { audienceEvents, AudienceSynced, type AudienceBatch, type AudienceEvent } from './events.ts';
import type { Audience } from './resource.ts';

export const AUDIENCE = 'audience';
export const AUDIENCE_BATCH = 'audienceBatch';

export const audienceStream = (customerId: number, audienceId: string): string =>
  `${AUDIENCE}-${customerId}-${audienceId}`;

export const audienceBatchStream = (customerId: number, batchId: string): string =>
  `${AUDIENCE_BATCH}-${customerId}-${batchId}`;

export type AudienceState = { readonly status: 'NONE' } | Audience;

const initialState = { status: 'NONE' } as const;

const evolve = (state: AudienceState, event: AudienceEvent): AudienceState => {
  const at = event.occurredAt;
  switch (event.type) {
    case 'AudienceSynced': {
      const { batch: _, ...details } = event.data;
      return {
        ...details,
        status: 'ACTIVE',
        lastChange: state.status === 'ACTIVE' ? 'updated' : 'created',
        createdAt: state.status === 'NONE' ? at : state.createdAt,
        updatedAt: at,
      };
    }
    case 'AudienceMembersForgotten':
      if (state.status === 'NONE') return state;
      return { ...state, lastChange: 'updated', updatedAt: at };
    case 'AudienceArchived':
      if (state.status === 'NONE') return state;
      return { ...state, status: 'ARCHIVED', lastChange: 'deleted', updatedAt: at };
    default:
      return (event satisfies never, state);
  }
};

interface SyncAudience {
  readonly type: 'SyncAudience';
  readonly now: string;
  readonly audienceId: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly key: string;
  /** Default: the present name; for a new audience, its key. */
  readonly name?: string | undefined;
  readonly consentBasis?: string | undefined;
  readonly batch?: AudienceBatch | undefined;
}

/** Records an erasure that has already deleted the members from the log and the read models. */
interface RecordForgotten {
  readonly type: 'RecordForgotten';
  readonly now: string;
  readonly forgettingId: string;
  readonly members: number;
}

export type AudienceCommand =
  SyncAudience | RecordForgotten | { readonly type: 'ArchiveAudience'; readonly now: string };

type AudienceDecision = Decision<AudienceEvent, never>;

/** Any batch counts as a change; other members only if they differ. */
const sync = (command: SyncAudience, state: AudienceState): AudienceDecision => {
  const before = state.status === 'ACTIVE' ? state : undefined;
  const name = command.name ?? before?.name ?? command.key;
  const consentBasis = command.consentBasis ?? before?.consentBasis;
  const isSame = before?.name === name && before.consentBasis === consentBasis;
  if (isSame && command.batch === undefined) return accept();
  const data = membersOf(AudienceSynced, { ...command, name, consentBasis });
  const occurredAt = command.now;
  return accept({ type: 'AudienceSynced', data, occurredAt });
};

const archive = (occurredAt: string, state: AudienceState): AudienceDecision =>
  state.status === 'ACTIVE' ? accept({ type: 'AudienceArchived', data: {}, occurredAt }) : accept();

const recordForgotten = (
  { now: occurredAt, forgettingId, members }: RecordForgotten,
  state: AudienceState,
): AudienceDecision =>
  state.status === 'ACTIVE'
    ? accept({ type: 'AudienceMembersForgotten', data: { forgettingId, members }, occurredAt })
    : accept();

const decide = (command: AudienceCommand, state: AudienceState): AudienceDecision => {
  switch (command.type) {
    case 'SyncAudience':
      return sync(command, state);
    case 'RecordForgotten':
      return recordForgotten(command, state);
    case 'ArchiveAudience':
      return archive(command.now, state);
    default:
      return command satisfies never;
  }
};

export const audienceFold = {
  category: AUDIENCE,
  stream: audienceStream,
  events: audienceEvents,
  initialState,
  evolve,
};
export const audienceAggregate = { ...audienceFold, decide };
