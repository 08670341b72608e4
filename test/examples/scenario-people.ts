import { createUser } from '../../cli/operate-accounts.ts';
import { insertLink, newLinkToken } from '../../command/accounts/one-time-links.ts';
import { codeOfStep } from '../../command/accounts/second-factor.ts';
import { linkIn } from '../support/outbox-link.ts';
import { readMail } from '../support/read-mail.ts';
import { until } from '../support/until.ts';
import { createBrowser, type Send } from './exchanges.ts';
import type { Scenario } from './scenario.ts';

const JANE = 'jane@acme.example';
const PASSWORD = 'correct horse battery staple';
const NEXT_PASSWORD = 'a different battery staple';

export interface OpenedAccount {
  readonly jane: Send;
  readonly customerId: number;
  readonly key: string;
  readonly apiKeyId: string;
}

/** Sign-up to the first API key. */
export const openAccount = async (scenario: Scenario): Promise<OpenedAccount> => {
  const { call, baseUrl } = scenario;
  const jane = createBrowser(baseUrl);
  await call('signUp', { as: jane, body: { email: JANE, password: PASSWORD, company: 'Acme Shoes' } });
  const token = await linkTo(scenario, JANE);
  const body = { token, password: PASSWORD };
  const { customerId } = await call<{ customerId: number }>('verifyEmail', { as: jane, body });
  await call('getCurrentUser', { as: jane });
  const { key, id } = await call<{ key: string; id: string }>('createApiKey', {
    as: jane,
    body: { name: 'Campaign planner', scopes: ['exchange:read', 'exchange:write', 'exchange:admin'] },
  });
  return { jane, customerId, key, apiKeyId: id };
};

/** @returns the token of the only link in the newest mail to someone */
const linkTo = async ({ mails }: Scenario, address: string, count = 1): Promise<string> => {
  const texts = (): readonly string[] =>
    mails.received
      .filter(({ to, source }) => to.includes(address) && source.includes('#token'))
      .map(({ source }) => readMail(source).text);
  await until(async () => texts().length >= count);
  return linkIn(texts().at(-1) ?? '').token;
};

export interface InvitedPeople {
  readonly invitationId: string;
  readonly userId: string;
}

export const invitePeople = async (scenario: Scenario): Promise<InvitedPeople> => {
  const { call, baseUrl } = scenario;
  await call('getCurrentAccount');
  const { id: invitationId } = await call<{ id: string }>('inviteUser', {
    body: { email: 'mo@acme.example', role: 'member' },
  });
  await call('listInvitations');
  const token = await linkTo(scenario, 'mo@acme.example');
  const { userId } = await call<{ userId: string }>('acceptInvitation', {
    as: createBrowser(baseUrl),
    body: { token, name: 'Mo Diallo', password: PASSWORD },
  });
  await call('listMembers');
  await call('changeMemberRole', { path: { userId }, body: { role: 'admin' } });
  const { id: otherId } = await call<{ id: string }>('inviteUser', {
    body: { email: 'kim@acme.example', role: 'admin' },
  });
  await call('revokeInvitation', { path: { id: otherId } });
  return { invitationId, userId };
};

/** What a person does with password, sessions and second factor. Ends every session of Jane but one. */
export const usePassword = async (scenario: Scenario, jane: Send): Promise<{ sessionId: string }> => {
  const { call, baseUrl } = scenario;
  await call('signOut', { as: jane });
  await call('signIn', { as: jane, body: { email: JANE, password: PASSWORD } });
  const phone = createBrowser(baseUrl);
  await call('signIn', { as: phone, body: { email: JANE, password: PASSWORD } });
  const sessions = await call<readonly { id: string; isCurrent: boolean }[]>('listSessions', { as: jane });
  const [other, own] = [
    sessions.find(({ isCurrent }) => !isCurrent),
    sessions.find(({ isCurrent }) => isCurrent),
  ];
  await call('endSession', { as: jane, path: { id: other?.id ?? '' } });
  await call('endOtherSessions', { as: jane });
  await useSecondFactor(scenario, jane);
  await call('changePassword', {
    as: jane,
    body: { currentPassword: PASSWORD, newPassword: NEXT_PASSWORD },
  });
  await call('requestPasswordReset', { as: phone, body: { email: JANE } });
  const token = await linkTo(scenario, JANE, 2);
  const { ticket } = await call<{ ticket: string }>('verifyPasswordReset', { as: phone, body: { token } });
  await call('resetPassword', { as: phone, body: { ticket, password: PASSWORD } });
  await call('signIn', { as: jane, body: { email: JANE, password: PASSWORD } });
  return { sessionId: own?.id ?? '' };
};

const STEP_MS = 30_000;

const useSecondFactor = async ({ call }: Scenario, jane: Send): Promise<void> => {
  const { secret } = await call<{ secret: string }>('startTotp', { as: jane, body: { password: PASSWORD } });
  const codeIn = (steps: number): string =>
    codeOfStep(seedOf(secret), Math.floor(Date.now() / STEP_MS) + steps);
  await call('confirmTotp', { as: jane, body: { code: codeIn(0) } });
  await call('disableTotp', { as: jane, body: { password: PASSWORD, code: codeIn(1) } });
};

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Base32, as an authenticator reads it. */
const seedOf = (secret: string): string => {
  const bits = Array.from(secret, (letter) => LETTERS.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return Buffer.from(bytes).toString('base64url');
};

/** The first sign-in of a user that an operator has added. */
export const setUpSignIn = async ({ call, service }: Scenario, customerId: number): Promise<void> => {
  const userId = await createUser(service.installation, customerId, { name: 'Ana', role: 'member' });
  const token = newLinkToken();
  await insertLink(service.pool, token, { purpose: 'set-up', customerId, userId, validMs: 60_000 });
  const body = { token, email: 'ana@acme.example', password: PASSWORD };
  await call('setUp', { as: createBrowser(service.baseUrl), body });
};

export interface Administered {
  readonly originId: string;
}

export const administer = async ({ call }: Scenario): Promise<Administered> => {
  await call('listApiKeys');
  const { id } = await call<{ id: string }>('createApiKey', { body: { name: 'Unused' } });
  await call('revokeApiKey', { path: { id } });
  const { id: originId } = await call<{ id: string }>('createBrowserOrigin', {
    body: { origin: 'https://planner.acme.example', label: 'Campaign planner' },
  });
  await call('listBrowserOrigins');
  await call('deleteBrowserOrigin', { path: { id: originId } });
  return { originId };
};
