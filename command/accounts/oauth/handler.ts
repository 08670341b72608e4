import {
  oauthGrantAggregate,
  type AuthorizedClient,
  type OAuthGrantRefusal,
} from '../../../domain/accounts/oauth-grant.ts';
import { handlerFor } from '../../../shared/aggregate/handler-for.ts';
import type { Clock } from '../../../shared/async/clock.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import { notFound } from '../../../shared/http/errors.ts';
import { refusals } from '../../../shared/http/refusals.ts';

/** Tokens are checked against these rows. The read model `credentials` repeats each write after a crash. */
export interface GrantRows {
  writeGrants(
    grants: readonly (AuthorizedClient & { readonly customerId: number; readonly authorizedAt: string })[],
  ): Promise<void>;
  writeRevoked(
    revoked: readonly { readonly customerId: number; readonly grantId: string; readonly revokedAt: string }[],
  ): Promise<void>;
}

export interface GrantWrites {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly rows: GrantRows;
}

const grantRefused = refusals<OAuthGrantRefusal>({ 'no-such-grant': () => notFound('connected app') });

export const grants = handlerFor(oauthGrantAggregate, grantRefused);
