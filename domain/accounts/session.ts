import { accept, refuse, type Decision } from '../decision.ts';
import {
  sessionEvents,
  type SessionEndReason,
  type SessionEvent,
  type SignInMethod,
} from './session-events.ts';

export const SESSION = 'session';

export const sessionStream = (customerId: number, sessionId: string): string =>
  `${SESSION}-${customerId}-${sessionId}`;

/** Without a request for this time, in hours, a session is over. */
export const SESSION_IDLE_HOURS = 12;
/** From the sign-in, in days. */
export const SESSION_DAYS = 30;
/** A further sign-in ends the user's oldest session. */
export const SESSIONS_MAX = 20;

export interface StartedSession {
  readonly status: 'STARTED' | 'ENDED';
  readonly sessionId: string;
  readonly userId: string;
  readonly method: SignInMethod;
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly endReason?: SessionEndReason;
}

export type Session = { readonly status: 'NONE' } | StartedSession;

const evolve = (state: Session, { type, data, occurredAt }: SessionEvent): Session => {
  if (type === 'SessionStarted') return { status: 'STARTED', ...data, startedAt: occurredAt };
  if (state.status === 'NONE') return state;
  switch (type) {
    case 'SessionEnded':
      return { ...state, status: 'ENDED', endedAt: occurredAt, endReason: data.reason };
    default:
      return (type satisfies never, state);
  }
};

export interface StartSession {
  readonly type: 'StartSession';
  readonly now: string;
  readonly sessionId: string;
  readonly userId: string;
  readonly method: SignInMethod;
}

export interface EndSession {
  readonly type: 'EndSession';
  readonly now: string;
  readonly reason: SessionEndReason;
}

export type SessionCommand = StartSession | EndSession;

export interface SessionRefusal {
  readonly reason: 'no-such-session';
}

type SessionDecision = Decision<SessionEvent, SessionRefusal>;

const startSession = (
  { now: occurredAt, sessionId, userId, method }: StartSession,
  state: Session,
): SessionDecision =>
  state.status === 'NONE'
    ? accept({ type: 'SessionStarted', data: { sessionId, userId, method }, occurredAt })
    : accept();

const endSession = ({ now: occurredAt, reason }: EndSession, { status }: Session): SessionDecision => {
  if (status === 'NONE') return refuse({ reason: 'no-such-session' });
  return status === 'ENDED' ? accept() : accept({ type: 'SessionEnded', data: { reason }, occurredAt });
};

const decide = (command: SessionCommand, state: Session): SessionDecision => {
  switch (command.type) {
    case 'StartSession':
      return startSession(command, state);
    case 'EndSession':
      return endSession(command, state);
    default:
      return command satisfies never;
  }
};

export const sessionFold = {
  category: SESSION,
  stream: sessionStream,
  events: sessionEvents,
  initialState: { status: 'NONE' } as const,
  evolve,
};

export const sessionAggregate = { ...sessionFold, decide };
