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
  const verified = { type: 'EmailVerified', data: { userId: '7-1' }, occurredAt: now } as const;
  it.each(['sign-up', 'invitation', 'link', 'change', 'reset'] as const)('records a password by %s', (by) => {
    given(opened, verified)
      .when({ type: 'SetPassword', ...own, by })
      .then({ type: 'PasswordSet', data: { userId: '7-1', by }, occurredAt: now });
  });
  it('verifies the address with its first reset, which ends the keys and invitations of the user', () => {
    const invited = (invitationId: string, invitedBy: string): AccountEvent => ({
      type: 'UserInvited',
      data: { invitationId, role: 'member', invitedBy },
      occurredAt: earlier,
    });
    const key: AccountEvent = {
      type: 'ApiKeyIssued',
      data: { keyId: 'k2', name: 'Key', maskedKey: 'bx_k2_****', userId: '7-2' },
      occurredAt: earlier,
    };
    const proven: readonly AccountEvent[] = [
      { type: 'PasswordSet', data: { userId: '7-1', by: 'reset' }, occurredAt: now },
      verified,
      { type: 'ApiKeyRevoked', data: { keyId: 'k1' }, occurredAt: now },
      { type: 'InvitationRevoked', data: { invitationId: 'i1' }, occurredAt: now },
    ];
    given(opened, member, issued('k1'), key, invited('i1', '7-1'), invited('i2', '7-2'))
      .when({ type: 'SetPassword', ...own, by: 'reset' })
      .then(...proven);
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
    { type: 'EnableTotp', now, userId: '7-9' },
    { type: 'DisableTotp', now, userId: '7-9' },
    { type: 'UseLookupCode', now, userId: '7-9' },
  ] as const)('needs a user: $type', (command) => {
    given(opened).when(command).thenRefused({ reason: 'no-such-user' });
    given().when(command).thenRefused({ reason: 'no-such-account' });
  });
});

describe('the members of an account', () => {
  const occurredAt = earlier;
  const added = (userId: string, role: 'admin' | 'member', invitationId?: string): AccountEvent => ({
    type: 'UserAdded',
    data: { userId, name: 'Mo', role, ...(invitationId === undefined ? {} : { invitationId }) },
    occurredAt,
  });
  const removed = (userId: string): AccountEvent => ({ type: 'UserRemoved', data: { userId }, occurredAt });
  const invited = (invitationId: string, at = occurredAt, invitedBy?: string): AccountEvent => ({
    type: 'UserInvited',
    data: { invitationId, role: 'member', ...(invitedBy !== undefined && { invitedBy }) },
    occurredAt: at,
  });
  const eightDaysBefore = '2026-11-13T10:00:00.000Z';

  it('have roles that change; the same role changes nothing', () => {
    given(opened, member)
      .when({ type: 'ChangeRole', now, userId: '7-2', role: 'admin' })
      .then({ type: 'UserRoleChanged', data: { userId: '7-2', role: 'admin' }, occurredAt: now });
    given(opened, member).when({ type: 'ChangeRole', now, userId: '7-2', role: 'member' }).thenNothing();
    given(opened)
      .when({ type: 'ChangeRole', now, userId: '7-2', role: 'member' })
      .thenRefused({ reason: 'no-such-user' });
    given(opened, member)
      .when({ type: 'ChangeRole', now, userId: '7-2', role: 'seller' })
      .thenRefused({ reason: 'role-of-other-accounts', isSellers: false });
  });
  it('limit new keys by the role that they have now', () => {
    const demoted: AccountEvent = {
      type: 'UserRoleChanged',
      data: { userId: '7-2', role: 'member' },
      occurredAt,
    };
    given(opened, added('7-2', 'admin'), demoted)
      .when(issue({ userId: '7-2', scopes: ['exchange:admin'] }))
      .thenRefused({ reason: 'scope-beyond-role', scope: 'exchange:admin' });
  });
  it('include an admin at all times', () => {
    const refused = { reason: 'last-admin', role: 'admin' } as const;
    given(opened, member)
      .when({ type: 'ChangeRole', now, userId: '7-1', role: 'member' })
      .thenRefused(refused);
    given(opened, member).when({ type: 'RemoveUser', now, userId: '7-1' }).thenRefused(refused);
    given(opened, added('7-2', 'admin'), removed('7-2'))
      .when({ type: 'RemoveUser', now, userId: '7-1' })
      .thenRefused(refused);
    given(opened, added('7-2', 'admin'))
      .when({ type: 'RemoveUser', now, userId: '7-1' })
      .then({ type: 'UserRemoved', data: { userId: '7-1' }, occurredAt: now });
  });
  it('of a seller include a user at all times', () => {
    const sellers: AccountEvent = {
      type: 'AccountOpened',
      data: { customerId: 7, name: 'News', sellerId: 1_001 },
      occurredAt,
    };
    given(sellers)
      .when({ type: 'RemoveUser', now, userId: '7-1' })
      .thenRefused({ reason: 'last-admin', role: 'seller' });
  });
  it('are removed with their keys, and their ids are never given again', () => {
    const key: AccountEvent = {
      type: 'ApiKeyIssued',
      data: { keyId: 'k2', name: 'Key', maskedKey: 'bx_k2_****', userId: '7-2' },
      occurredAt,
    };
    given(opened, member, issued('k1'), key)
      .when({ type: 'RemoveUser', now, userId: '7-2' })
      .then(
        { type: 'UserRemoved', data: { userId: '7-2' }, occurredAt: now },
        { type: 'ApiKeyRevoked', data: { keyId: 'k2' }, occurredAt: now },
      );
    given(opened, member, removed('7-2'))
      .when({ type: 'RemoveUser', now, userId: '7-2' })
      .thenRefused({ reason: 'no-such-user' });
    given(opened, member, removed('7-2'))
      .when(issue({ userId: '7-2' }))
      .thenRefused({ reason: 'no-such-user' });
    given(opened, member, removed('7-2'))
      .when({ type: 'AddUser', now, name: 'Jo', role: 'member' })
      .then({ type: 'UserAdded', data: { userId: '7-3', name: 'Jo', role: 'member' }, occurredAt: now });
  });
  it('are removed with the invitations that they sent, and cannot invite afterwards', () => {
    given(opened, member, invited('i1', now, '7-2'), invited('i2', now, '7-1'), invited('i3'))
      .when({ type: 'RemoveUser', now, userId: '7-2' })
      .then(
        { type: 'UserRemoved', data: { userId: '7-2' }, occurredAt: now },
        { type: 'InvitationRevoked', data: { invitationId: 'i1' }, occurredAt: now },
      );
    given(opened, member, removed('7-2'))
      .when({ type: 'InviteUser', now, invitationId: 'new', role: 'member', invitedBy: '7-2' })
      .thenRefused({ reason: 'no-such-user' });
  });
  it('are invited, at most 100 at a time; revoked, accepted and expired invitations are not open', () => {
    const invite = { type: 'InviteUser', now, invitationId: 'new', role: 'member' } as const;
    const many = (count: number, at?: string): AccountEvent[] =>
      Array.from({ length: count }, (_, n) => invited(`i${n}`, at));
    const sent: AccountEvent = {
      type: 'UserInvited',
      data: { invitationId: 'new', role: 'member' },
      occurredAt: now,
    };
    given(opened, ...many(100))
      .when(invite)
      .thenRefused({ reason: 'too-many-invitations', limit: 100, active: 100 });
    given(opened, ...many(99))
      .when(invite)
      .then(sent);
    given(opened, ...many(100), { type: 'InvitationRevoked', data: { invitationId: 'i3' }, occurredAt })
      .when(invite)
      .then(sent);
    given(opened, ...many(100), added('7-2', 'member', 'i4'))
      .when(invite)
      .then(sent);
    given(opened, ...many(100, eightDaysBefore))
      .when(invite)
      .then(sent);
    given(opened)
      .when({ ...invite, role: 'seller' })
      .thenRefused({ reason: 'role-of-other-accounts', isSellers: false });
  });
  it('accept an invitation once, within 7 days', () => {
    const acceptance = { type: 'AcceptInvitation', now, invitationId: 'i', name: 'Mo' } as const;
    const data = { userId: '7-2', name: 'Mo', role: 'member', invitationId: 'i' } as const;
    const accepted: AccountEvent[] = [
      { type: 'UserAdded', data, occurredAt: now },
      { type: 'PasswordSet', data: { userId: '7-2', by: 'invitation' }, occurredAt: now },
      { type: 'EmailVerified', data: { userId: '7-2' }, occurredAt: now },
    ];
    given(opened, invited('i'))
      .when(acceptance)
      .then(...accepted);
    const refused = { reason: 'no-such-invitation' } as const;
    given(opened).when(acceptance).thenRefused(refused);
    given(opened, invited('i', eightDaysBefore)).when(acceptance).thenRefused(refused);
    given(opened, invited('i'), added('7-2', 'member', 'i'))
      .when(acceptance)
      .thenRefused(refused);
  });
  it('have invitations that are revoked once', () => {
    const revoke = { type: 'RevokeInvitation', now, invitationId: 'i' } as const;
    const event: AccountEvent = { type: 'InvitationRevoked', data: { invitationId: 'i' }, occurredAt: now };
    given(opened, invited('i')).when(revoke).then(event);
    given(opened, invited('i'), event).when(revoke).thenRefused({ reason: 'no-such-invitation' });
  });
  it('keep no expired invitations in the state', () => {
    const history = Array.from({ length: 300 }, (_, n) =>
      invited(`i${n}`, new Date(Date.parse(eightDaysBefore) + n * 3_600_000).toISOString()),
    );
    const state = given(opened, ...history).state();
    expect(state.status === 'NONE' ? 0 : Object.keys(state.invitations).length).toBe(7 * 24);
  });
});

describe('the browser origins of an account', () => {
  const register = (origin: string, originId = 'new') =>
    ({ type: 'RegisterOrigin', now, originId, origin, userId: '7-1' }) as const;
  const registered = (n: number): AccountEvent => ({
    type: 'BrowserOriginRegistered',
    data: { originId: `o${n}`, origin: `https://${n}.example.com`, userId: '7-1' },
    occurredAt: earlier,
  });
  const fifty = Array.from({ length: 50 }, (_, n) => registered(n));
  const gone: AccountEvent = { type: 'BrowserOriginRemoved', data: { originId: 'o3' }, occurredAt: now };

  it('are at most 50', () => {
    const event: AccountEvent = {
      type: 'BrowserOriginRegistered',
      data: { originId: 'new', origin: 'https://new.example.com', label: 'New', userId: '7-1' },
      occurredAt: now,
    };
    given(opened, ...fifty)
      .when(register('https://new.example.com'))
      .thenRefused({ reason: 'too-many-origins', limit: 50, active: 50 });
    given(opened, ...fifty, gone)
      .when({ ...register('https://new.example.com'), label: 'New' })
      .then(event);
  });
  it('are registered once, and again after they were removed', () => {
    given(opened, ...fifty)
      .when(register('https://3.example.com'))
      .thenRefused({ reason: 'origin-registered', originId: 'o3' });
    given(opened, ...fifty)
      .when({ type: 'RemoveOrigin', now, originId: 'o3' })
      .then(gone);
    given(opened, ...fifty, gone)
      .when({ type: 'RemoveOrigin', now, originId: 'o3' })
      .thenRefused({ reason: 'no-such-origin' });
    expect(
      given(opened, ...fifty, gone)
        .when(register('https://3.example.com'))
        .state(),
    ).toMatchObject({ origins: { new: 'https://3.example.com' } });
  });
});
