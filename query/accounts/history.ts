import { z } from 'zod';
import { accountEvents } from '../../domain/accounts/events.ts';
import {
  ACCOUNT_PAST_BYTES,
  accountMembers,
  accountPast,
  keyMembers,
  invitationMembers,
  keysListedAt,
  originMembers,
  userMembers,
  type AccountPast,
} from '../../domain/accounts/account-history.ts';
import { accountStream, type OpenedAccount } from '../../domain/accounts/account.ts';
import { oauthGrantFold, oauthGrantStream, type GrantState } from '../../domain/accounts/oauth-grant.ts';
import { sessionFold, sessionStream } from '../../domain/accounts/session.ts';
import { valueOf } from '../../domain/accounts/shared-map.ts';
import { apiKeyList, connectedApps } from './routes.ts';
import { sessionsPath } from './session-routes.ts';
import { pathTextId } from '../../shared/http/schemas.ts';
import { auditedKind } from '../resources/audited-kind.ts';
import { boundedText } from '../../domain/values.ts';
import { buyer } from '../resources/resource-paths.ts';

type Open = AccountPast & { readonly account: OpenedAccount };
const isOpen = (past: AccountPast): past is Open => past.account.status !== 'NONE';

/** The account, its users and its keys have one stream. */
const accountNames = {
  category: 'account',
  events: accountEvents,
  ...accountPast,
  live: (past: AccountPast) => (isOpen(past) ? past : undefined),
  bytesOf: () => ACCOUNT_PAST_BYTES,
} as const;

export const accountKind = auditedKind({
  ...accountNames,
  resourceType: 'ACCOUNT',
  noun: 'account',
  idOf: ({ account }) => String(account.customerId),
  streamsOf: (customerId, shown) => (shown === String(customerId) ? [accountStream(customerId)] : []),
  audited: ({ account }) => accountMembers(account),
  nameOf: ({ account }) => account.name,
  place: {
    path: '/api/v2/accounts/current',
    params: z.object({}),
    tag: 'Accounts',
    access: 'exchange:admin',
    find: (customerId) => ({ stream: accountStream(customerId) }),
  },
});

export const apiKeyKind = auditedKind({
  ...accountNames,
  resourceType: 'API_KEY',
  noun: 'API key',
  idOf: (_past, part) => part,
  audited: ({ keys }, part = '') => {
    const key = valueOf(keys, part);
    return key && keyMembers(part, key);
  },
  nameOf: ({ keys }, part = '') => valueOf(keys, part)?.name,
  place: {
    path: `${buyer}/api-keys/{id}`,
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the API key.' }) }),
    tag: 'API keys',
    access: 'exchange:admin',
    find: (customerId, { id }) => ({ stream: accountStream(customerId), part: String(id) }),
    isAt: ({ keys }, _asked, part = '') => valueOf(keys, part) !== undefined,
  },
  sharedLists: [
    {
      route: apiKeyList,
      streamOf: (customerId) => accountStream(customerId),
      all: (past, _asked, { at }) => keysListedAt(past, at),
    },
  ],
});

export const userKind = auditedKind({
  ...accountNames,
  resourceType: 'USER',
  noun: 'user',
  idOf: (_past, part) => part,
  audited: ({ users }, part = '') => {
    const user = valueOf(users, part);
    return user && userMembers(part, user);
  },
  nameOf: ({ users }, part = '') => valueOf(users, part)?.name,
  place: {
    path: `${buyer}/users/{id}`,
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the user.' }) }),
    tag: 'Accounts',
    access: 'exchange:admin',
    find: (customerId, { id }) => ({ stream: accountStream(customerId), part: String(id) }),
    isAt: ({ users }, _asked, part = '') => valueOf(users, part) !== undefined,
  },
});

export const invitationKind = auditedKind({
  ...accountNames,
  resourceType: 'INVITATION',
  noun: 'invitation',
  idOf: (_past, part) => part,
  audited: ({ invitations }, part = '') => {
    const invitation = valueOf(invitations, part);
    return invitation && invitationMembers(part, invitation);
  },
  place: {
    path: '/api/v2/accounts/current/invitations/{id}',
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the invitation.' }) }),
    tag: 'Accounts',
    access: 'exchange:admin',
    find: (customerId, { id }) => ({ stream: accountStream(customerId), part: String(id) }),
    isAt: ({ invitations }, _asked, part = '') => valueOf(invitations, part) !== undefined,
  },
});

export const browserOriginKind = auditedKind({
  ...accountNames,
  resourceType: 'BROWSER_ORIGIN',
  noun: 'browser origin',
  idOf: (_past, part) => part,
  audited: ({ origins }, part = '') => {
    const origin = valueOf(origins, part);
    return origin && originMembers(part, origin);
  },
  nameOf: ({ origins }, part = '') => valueOf(origins, part)?.origin,
  place: {
    path: `${buyer}/browser-origins/{id}`,
    params: z.object({ id: boundedText(1, 100).meta({ description: 'Id of the browser origin.' }) }),
    tag: 'Browser origins',
    access: 'exchange:admin',
    find: (customerId, { id }) => ({ stream: accountStream(customerId), part: String(id) }),
    isAt: ({ origins }, _asked, part = '') => valueOf(origins, part) !== undefined,
  },
});

export const connectedAppKind = auditedKind({
  ...oauthGrantFold,
  resourceType: 'CONNECTED_APP',
  noun: 'connected app',
  live: (state: GrantState) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ grantId }) => grantId,
  streamsOf: (customerId, shown) => [oauthGrantStream(customerId, shown)],
  audited: ({ grantId, ...grant }) => ({ id: grantId, ...grant }),
  nameOf: ({ clientName }) => clientName,
  place: {
    path: `${connectedApps}/{grantId}`,
    params: z.object({ grantId: boundedText(1, 100).meta({ description: 'Id of the connected app.' }) }),
    tag: 'Accounts',
    access: 'exchange:admin',
    find: (customerId, { grantId }) => ({ stream: oauthGrantStream(customerId, String(grantId)) }),
  },
});

export const userSessionKind = auditedKind({
  ...sessionFold,
  resourceType: 'SESSION',
  noun: 'session',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  idOf: ({ sessionId }) => sessionId,
  streamsOf: (customerId, shown) => [sessionStream(customerId, shown.toLowerCase())],
  audited: ({ sessionId, ...session }) => ({ id: sessionId, ...session }),
  place: {
    path: `${sessionsPath}/{id}`,
    params: z.object({ id: pathTextId('session') }),
    tag: 'Sign-in',
    access: 'exchange:admin',
    find: (customerId, { id }) =>
      z.uuid().safeParse(id).success
        ? { stream: sessionStream(customerId, String(id).toLowerCase()) }
        : undefined,
  },
});
