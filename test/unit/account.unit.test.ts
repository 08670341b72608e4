import { describe, expect, it } from '@jest/globals';
import type { AccountEvent } from '../../domain/accounts/events.ts';
import { accountAggregate, type IssueApiKey } from '../../domain/accounts/account.ts';
import { specificationOf } from '../support/given.ts';

const { given } = specificationOf(accountAggregate);
const now = '2026-11-21T10:00:00.000Z';
const earlier = '2026-11-20T10:00:00.000Z';

const opened: AccountEvent = {
  type: 'AccountOpened',
  data: { customerId: 7, name: 'Acme' },
  occurredAt: earlier,
};
const member: AccountEvent = {
  type: 'UserAdded',
  data: { userId: '7-2', name: 'Mo', role: 'member' },
  occurredAt: earlier,
};
const issued = (keyId: string, expiresAt?: string): AccountEvent => ({
  type: 'ApiKeyIssued',
  data: {
    keyId,
    name: 'Key',
    maskedKey: `bx_${keyId}_****`,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  },
  occurredAt: earlier,
});
const revoked = (keyId: string): AccountEvent => ({
  type: 'ApiKeyRevoked',
  data: { keyId },
  occurredAt: earlier,
});
const issue = (rest: Partial<IssueApiKey> = {}): IssueApiKey => ({
  type: 'IssueApiKey',
  now,
  keyId: 'new',
  name: 'Key',
  maskedKey: 'bx_new_****',
  userId: '7-1',
  ...rest,
});
const keys = (count: number, expiresAt?: string): AccountEvent[] =>
  Array.from({ length: count }, (_, n) => issued(`k${n}`, expiresAt));

describe('an account', () => {
  it('opens with an admin and a first key', () => {
    const firstKey = { keyId: 'k', name: 'First key', maskedKey: 'bx_k_****' };
    given()
      .when({ type: 'OpenAccount', now, customerId: 7, name: 'Acme', firstKey })
      .then(
        { type: 'AccountOpened', data: { customerId: 7, name: 'Acme' }, occurredAt: now },
        {
          type: 'ApiKeyIssued',
          data: { ...firstKey, userId: '7-1', scopes: ['exchange:read', 'exchange:write', 'exchange:admin'] },
          occurredAt: now,
        },
      );
  });
  it('can be opened only once', () => {
    const firstKey = { keyId: 'k', name: 'First key', maskedKey: 'bx_k_****' };
    given(opened)
      .when({ type: 'OpenAccount', now, customerId: 7, name: 'Acme', firstKey })
      .thenRefused({ reason: 'already-open' });
  });
  it('is disabled and enabled; repeating either changes nothing', () => {
    const disabled: AccountEvent = { type: 'AccountDisabled', data: {}, occurredAt: now };
    given(opened).when({ type: 'DisableAccount', now }).then(disabled);
    given(opened, disabled).when({ type: 'DisableAccount', now }).thenNothing();
    given(opened, disabled)
      .when({ type: 'EnableAccount', now })
      .then({ type: 'AccountEnabled', data: {}, occurredAt: now });
    given(opened).when({ type: 'EnableAccount', now }).thenNothing();
    given().when({ type: 'DisableAccount', now }).thenRefused({ reason: 'no-such-account' });
  });
  it('that belongs to a seller has only users with the role seller, whose keys may review creatives', () => {
    const firstKey = { keyId: 'k', name: 'First key', maskedKey: 'bx_k_****' };
    const sellers: AccountEvent = {
      type: 'AccountOpened',
      data: { customerId: 7, name: 'News', sellerId: 1_001 },
      occurredAt: now,
    };
    given()
      .when({ type: 'OpenAccount', now, customerId: 7, name: 'News', sellerId: 1_001, firstKey })
      .then(sellers, {
        type: 'ApiKeyIssued',
        data: { ...firstKey, userId: '7-1', scopes: ['exchange:review'] },
        occurredAt: now,
      });
    given(sellers)
      .when(issue({ scopes: ['exchange:review', 'exchange:read'] }))
      .thenRefused({ reason: 'scope-beyond-role', scope: 'exchange:read' });
    given(opened)
      .when(issue({ scopes: ['exchange:review'] }))
      .thenRefused({ reason: 'scope-beyond-role', scope: 'exchange:review' });
    given(sellers)
      .when({ type: 'AddUser', now, name: 'Mo', role: 'admin' })
      .thenRefused({ reason: 'role-of-other-accounts', isSellers: true });
    given(opened)
      .when({ type: 'AddUser', now, name: 'Mo', role: 'seller' })
      .thenRefused({ reason: 'role-of-other-accounts', isSellers: false });
    given(sellers)
      .when({ type: 'AddUser', now, name: 'Mo', role: 'seller' })
      .then({ type: 'UserAdded', data: { userId: '7-2', name: 'Mo', role: 'seller' }, occurredAt: now });
  });
  it('numbers its users in order', () => {
    given(opened)
      .when({ type: 'AddUser', now, name: 'Mo', role: 'member' })
      .then({ type: 'UserAdded', data: { userId: '7-2', name: 'Mo', role: 'member' }, occurredAt: now });
  });
});

describe('a key', () => {
  it('gets all scopes of its role by default', () => {
    given(opened, member)
      .when(issue({ userId: '7-2' }))
      .then({
        type: 'ApiKeyIssued',
        data: {
          keyId: 'new',
          name: 'Key',
          maskedKey: 'bx_new_****',
          userId: '7-2',
          scopes: ['exchange:read', 'exchange:write'],
        },
        occurredAt: now,
      });
    const { state } = given(opened).when(issue({ scopes: ['exchange:read'] }));
    expect(state()).toMatchObject({ keys: { new: { scopes: ['exchange:read'] } } });
  });
  it('never gets a scope beyond the role', () => {
    given(opened, member)
      .when(issue({ userId: '7-2', scopes: ['exchange:read', 'exchange:admin'] }))
      .thenRefused({ reason: 'scope-beyond-role', scope: 'exchange:admin' });
  });
  it('needs an existing user', () => {
    given(opened)
      .when(issue({ userId: '8-1' }))
      .thenRefused({ reason: 'no-such-user' });
  });
  it('cannot expire in the past', () => {
    given(opened)
      .when(issue({ expiresAt: now }))
      .thenRefused({ reason: 'expires-in-the-past' });
  });
  it('counts towards a limit of 100 active keys, without revoked and expired ones', () => {
    given(opened, ...keys(100))
      .when(issue())
      .thenRefused({ reason: 'too-many-keys', limit: 100, active: 100 });
    const expectFreeKey = (...history: AccountEvent[]): void =>
      expect(
        given(opened, ...history)
          .when(issue())
          .state(),
      ).toMatchObject({ keys: { new: {} } });
    expectFreeKey(...keys(99));
    expectFreeKey(...keys(100), revoked('k3'));
    expectFreeKey(...keys(100, now));
  });
  it('is revoked once; an unknown key changes nothing', () => {
    given(opened, issued('k'))
      .when({ type: 'RevokeApiKey', now, keyId: 'k' })
      .then({ type: 'ApiKeyRevoked', data: { keyId: 'k' }, occurredAt: now });
    given(opened, issued('k'), revoked('k')).when({ type: 'RevokeApiKey', now, keyId: 'k' }).thenNothing();
    given(opened).when({ type: 'RevokeApiKey', now, keyId: 'k' }).thenNothing();
  });
  it('whose event names no user and no scopes belongs to the first user and gets all scopes of its role', () => {
    expect(given(opened, issued('k')).state()).toMatchObject({
      keys: { k: { userId: '7-1', scopes: ['exchange:read', 'exchange:write', 'exchange:admin'] } },
    });
  });
});

describe('the sign-in of a user', () => {
  const signedUp = [
    {
      type: 'AccountOpened',
      data: { customerId: 7, name: 'Acme', customerDomain: 'acme.test' },
      occurredAt: now,
    },
    { type: 'PasswordSet', data: { userId: '7-1', by: 'sign-up' }, occurredAt: now },
    { type: 'EmailVerified', data: { userId: '7-1' }, occurredAt: now },
  ] as const satisfies readonly AccountEvent[];
  const own = { now, userId: '7-1' } as const;

  it('begins with the account, without an API key', () => {
    const open = {
      type: 'OpenAccount',
      now,
      customerId: 7,
      name: 'Acme',
      customerDomain: 'acme.test',
    } as const;
    given()
      .when({ ...open, firstPassword: { emailVerified: true } })
      .then(...signedUp);
    given()
      .when({ ...open, firstPassword: { emailVerified: false } })
      .then(signedUp[0], signedUp[1]);
    expect(given(...signedUp).state()).toMatchObject({ customerDomain: 'acme.test', keys: {} });
  });
  it.each(['sign-up', 'invitation', 'link', 'change', 'reset'] as const)('records a password by %s', (by) => {
    given(opened)
      .when({ type: 'SetPassword', ...own, by })
      .then({ type: 'PasswordSet', data: { userId: '7-1', by }, occurredAt: now });
  });
  it('records that the address is verified once', () => {
    const verified = { type: 'EmailVerified', data: { userId: '7-1' }, occurredAt: now } as const;
    given(opened)
      .when({ type: 'VerifyEmail', ...own })
      .then(verified);
    given(opened, verified)
      .when({ type: 'VerifyEmail', ...own })
      .thenNothing();
  });
  it('has a second factor or none; repeating either changes nothing', () => {
    const enabled = { type: 'TotpEnabled', data: { userId: '7-1' }, occurredAt: now } as const;
    const disabled = { ...enabled, type: 'TotpDisabled' } as const;
    given(opened)
      .when({ type: 'EnableTotp', ...own })
      .then(enabled);
    given(opened, enabled)
      .when({ type: 'EnableTotp', ...own })
      .thenNothing();
    given(opened, enabled)
      .when({ type: 'DisableTotp', ...own })
      .then(disabled);
    given(opened, enabled, disabled)
      .when({ type: 'DisableTotp', ...own })
      .thenNothing();
    given(opened)
      .when({ type: 'DisableTotp', ...own })
      .thenNothing();
    given(opened, enabled, disabled)
      .when({ type: 'EnableTotp', ...own })
      .then(enabled);
  });
  it('records each used lookup code', () => {
    const used = { type: 'LookupCodeUsed', data: { userId: '7-1' }, occurredAt: now } as const;
    given(opened, used)
      .when({ type: 'UseLookupCode', ...own })
      .then(used);
  });
  it('is kept for each user', () => {
    given(opened, member, { type: 'TotpEnabled', data: { userId: '7-1' }, occurredAt: now })
      .when({ type: 'EnableTotp', now, userId: '7-2' })
      .then({ type: 'TotpEnabled', data: { userId: '7-2' }, occurredAt: now });
  });
  it.each([
    { type: 'SetPassword', now, userId: '7-9', by: 'link' },
    { type: 'VerifyEmail', now, userId: '7-9' },
    { type: 'EnableTotp', now, userId: '7-9' },
    { type: 'DisableTotp', now, userId: '7-9' },
    { type: 'UseLookupCode', now, userId: '7-9' },
  ] as const)('needs a user: $type', (command) => {
    given(opened).when(command).thenRefused({ reason: 'no-such-user' });
    given().when(command).thenRefused({ reason: 'no-such-account' });
  });
});
