import { z } from 'zod';
import { accept, refuse, type Decision, type EventsOf } from '../decision.ts';
import { Scope } from './access.ts';

/** A user's consent to an OAuth client. Tokens never appear in its events. */

export const OAUTH_GRANT = 'oauthGrant';

export const oauthGrantStream = (customerId: number, grantId: string): string =>
  `${OAUTH_GRANT}-${customerId}-${grantId}`;

/** From the consent, in days. No token of the grant is valid later. */
export const GRANT_DAYS = 90;

const OAuthClientAuthorized = z.object({
  grantId: z.string(),
  userId: z.string(),
  clientId: z.string(),
  clientName: z.string(),
  /** It publishes the client's metadata document. */
  clientHost: z.string().optional(),
  scopes: z.array(Scope),
  resources: z.array(z.string()),
});

/**
 * `reuse`: a code or refresh token was used again. `removal`: the user was removed. `reset`: the first reset of the
 * password that verified the user's address.
 */
export const RevokedBy = z.enum(['user', 'admin', 'client', 'reuse', 'removal', 'reset', 'operator']);
export type RevokedBy = z.infer<typeof RevokedBy>;

export const oauthGrantEvents = {
  OAuthClientAuthorized: { schemaVersion: 1, data: OAuthClientAuthorized },
  // Version 2 adds the reason `reset`.
  OAuthGrantRevoked: {
    schemaVersion: 2,
    data: z.object({ by: RevokedBy }),
    upcasters: [<Data>(data: Data): Data => data],
  },
} as const;

export type OAuthGrantEvent = EventsOf<typeof oauthGrantEvents>;

export type AuthorizedClient = z.infer<typeof OAuthClientAuthorized>;

export interface Grant extends AuthorizedClient {
  readonly status: 'AUTHORIZED' | 'REVOKED';
  readonly authorizedAt: string;
  readonly revokedAt?: string;
}

export type GrantState = { readonly status: 'NONE' } | Grant;

const evolve = (state: GrantState, event: OAuthGrantEvent): GrantState => {
  switch (event.type) {
    case 'OAuthClientAuthorized':
      return { ...event.data, status: 'AUTHORIZED', authorizedAt: event.occurredAt };
    case 'OAuthGrantRevoked':
      return state.status === 'NONE' ? state : { ...state, status: 'REVOKED', revokedAt: event.occurredAt };
    default:
      return (event satisfies never, state);
  }
};

export interface AuthorizeClient extends AuthorizedClient {
  readonly type: 'AuthorizeClient';
  readonly now: string;
}

export interface RevokeGrant {
  readonly type: 'RevokeGrant';
  readonly now: string;
  readonly by: RevokedBy;
}

export type OAuthGrantRefusal = { readonly reason: 'no-such-grant' };

type GrantDecision = Decision<OAuthGrantEvent, OAuthGrantRefusal>;

const authorize = (command: AuthorizeClient, { status }: GrantState): GrantDecision => {
  const { type: _, now: occurredAt, ...data } = command;
  return status === 'NONE' ? accept({ type: 'OAuthClientAuthorized', data, occurredAt }) : accept();
};

const revoke = ({ now: occurredAt, by }: RevokeGrant, { status }: GrantState): GrantDecision => {
  if (status === 'NONE') return refuse({ reason: 'no-such-grant' });
  if (status === 'REVOKED') return accept();
  return accept({ type: 'OAuthGrantRevoked', data: { by }, occurredAt });
};

const decide = (command: AuthorizeClient | RevokeGrant, state: GrantState): GrantDecision => {
  switch (command.type) {
    case 'AuthorizeClient':
      return authorize(command, state);
    case 'RevokeGrant':
      return revoke(command, state);
    default:
      return command satisfies never;
  }
};

/** For readers, who decide nothing. */
export const oauthGrantFold = {
  category: OAUTH_GRANT,
  events: oauthGrantEvents,
  initialState: { status: 'NONE' } as const,
  evolve,
};

export const oauthGrantAggregate = { ...oauthGrantFold, stream: oauthGrantStream, decide };
