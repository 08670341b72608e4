import { describe, expect, it } from '@jest/globals';
import {
  oauthGrantAggregate,
  type AuthorizeClient,
  type OAuthGrantEvent,
} from '../../domain/accounts/oauth-grant.ts';
import { specificationOf } from '../support/given.ts';

const now = '2026-11-24T10:00:00.000Z';
const later = '2026-11-25T10:00:00.000Z';
const client = {
  grantId: 'grant',
  userId: '1-1',
  clientId: 'client',
  clientName: 'Planner',
  scopes: ['exchange:read' as const],
  resources: ['https://exchange.example.com'],
};
const authorize: AuthorizeClient = { type: 'AuthorizeClient', now, ...client };
const authorized: OAuthGrantEvent = { type: 'OAuthClientAuthorized', data: client, occurredAt: now };
const revoke = (at: string) => ({ type: 'RevokeGrant', now: at, by: 'user' }) as const;
const revoked: OAuthGrantEvent = { type: 'OAuthGrantRevoked', data: { by: 'user' }, occurredAt: now };

const { given } = specificationOf(oauthGrantAggregate);

describe('a grant', () => {
  it('begins with the consent, once', () => {
    given().when(authorize).then(authorized);
    given(authorized).when(authorize).thenNothing();
    given(authorized, revoked).when(authorize).thenNothing();
  });

  it('is revoked once', () => {
    given(authorized).when(revoke(now)).then(revoked);
    given(authorized, revoked).when(revoke(later)).thenNothing();
  });

  it('cannot be revoked if it does not exist', () => {
    given().when(revoke(now)).thenRefused({ reason: 'no-such-grant' });
  });

  it('keeps the time of its first revocation', () => {
    expect(given(authorized, revoked).state()).toMatchObject({
      status: 'REVOKED',
      authorizedAt: now,
      revokedAt: now,
    });
  });
});
