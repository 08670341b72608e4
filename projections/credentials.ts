import type { ClientBase } from 'pg';
import { accountEvents, type AccountEvent } from '../domain/accounts/events.ts';
import { accountStream, firstUser } from '../domain/accounts/account.ts';
import {
  OAUTH_GRANT,
  oauthGrantEvents,
  oauthGrantStream,
  type OAuthGrantEvent,
} from '../domain/accounts/oauth-grant.ts';
import {
  removeOrigins,
  removeUsers,
  writeAccess,
  writeOpened,
  writeOrigins,
  writeRoles,
  writeUsers,
  type AccessRow,
  type OpenedRow,
  type OriginRow,
  type RemovedOriginRow,
  type RemovedUserRow,
  type RoleRow,
  type UserRow,
} from './account-rows.ts';
import { writeGrants, writeRevoked, type GrantRow, type RevokedRow } from './oauth-grant-rows.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { UnprojectableEventError, type Projection } from './engine/projection.ts';

/** Completes commands that stopped between event and row. Never inserts a key: no event contains the hash. */
export const credentialsProjection: Projection = {
  name: 'credentials',
  categories: ['account', OAUTH_GRANT],
  // A rebuild must not empty them: a key's hash exists nowhere else.
  tables: [],
  forget: async (client) => {
    // The log may have been replaced, so its revisions apply again. No credential is accepted before all are
    // applied (`whole_at`): between "enabled" and the next "disabled", a disabled account looks open.
    await client.query('update accounts set access_revision = 0 where access_revision > 0');
    await client.query('update users set revision = -1');
    await client.query('delete from browser_origins');
  },
  apply: async (client, events) => {
    const [ofGrants, ofAccounts] = [events.filter(isOfGrant), events.filter((event) => !isOfGrant(event))];
    await followGrants(client, ofGrants);
    const changes = readEvents(ofAccounts);
    await writeOpened(client, changes.opened);
    await writeAccess(client, [...changes.access.values()]);
    await writeUsers(client, changes.users);
    await writeRoles(client, [...changes.roles.values()]);
    await removeUsers(client, changes.removed);
    await writeOrigins(client, changes.origins);
    await removeOrigins(client, changes.removedOrigins);
    await announce(client, changes.issued);
    await revoke(client, changes.revoked);
  },
};

const isOfGrant = ({ stream }: RecordedEvent): boolean => stream.startsWith(`${OAUTH_GRANT}-`);

const followGrants = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  const authorized: GrantRow[] = [];
  const revoked: RevokedRow[] = [];
  for (const recorded of events) {
    const { customerId } = recorded.metadata;
    const grantId = recorded.stream.slice(oauthGrantStream(customerId, '').length);
    if (oauthGrantStream(customerId, grantId) !== recorded.stream) {
      throw new UnprojectableEventError(recorded, `the stream does not belong to account ${customerId}`);
    }
    const event = decodeEvent(recorded, oauthGrantEvents) as OAuthGrantEvent;
    if (event.type === 'OAuthGrantRevoked')
      revoked.push({ customerId, grantId, revokedAt: event.occurredAt });
    else authorized.push({ ...event.data, customerId, grantId, authorizedAt: event.occurredAt });
  }
  await writeGrants(client, authorized);
  await writeRevoked(client, revoked);
};

interface KeyOfAccount {
  readonly customerId: number;
  readonly keyId: string;
}

interface AccountChanges {
  readonly opened: OpenedRow[];
  readonly access: Map<number, AccessRow>;
  readonly users: UserRow[];
  /** By user: the last event of each decides. */
  readonly roles: Map<string, RoleRow>;
  readonly removed: RemovedUserRow[];
  readonly origins: OriginRow[];
  readonly removedOrigins: RemovedOriginRow[];
  readonly issued: KeyOfAccount[];
  readonly revoked: (KeyOfAccount & { readonly revokedAt: string })[];
}

const readEvents = (events: readonly RecordedEvent[]): AccountChanges => {
  const changes: AccountChanges = {
    opened: [],
    access: new Map(),
    users: [],
    roles: new Map(),
    removed: [],
    origins: [],
    removedOrigins: [],
    issued: [],
    revoked: [],
  };
  for (const event of events) {
    const { customerId } = event.metadata;
    // The stream name decides the account: no event may write another account's rows.
    if (accountStream(customerId) !== event.stream) {
      throw new UnprojectableEventError(event, `the stream does not belong to account ${customerId}`);
    }
    readEvent(changes, customerId, event, decodeEvent(event, accountEvents) as AccountEvent);
  }
  return changes;
};

const readEvent = (
  changes: AccountChanges,
  customerId: number,
  { revision }: RecordedEvent,
  { type, data, occurredAt }: AccountEvent,
): void => {
  switch (type) {
    case 'AccountOpened':
      changes.opened.push({ ...data, customerId });
      changes.users.push({
        customerId,
        ...firstUser(customerId, data.sellerId),
        revision,
        addedAt: occurredAt,
      });
      return;
    case 'AccountDisabled':
      changes.access.set(customerId, { customerId, revision, disabledAt: occurredAt });
      return;
    case 'AccountEnabled':
      changes.access.set(customerId, { customerId, revision, disabledAt: null });
      return;
    case 'UserAdded':
      changes.users.push({ ...data, customerId, revision, addedAt: occurredAt });
      return;
    case 'UserRoleChanged':
      changes.roles.set(data.userId, { ...data, customerId, revision });
      return;
    case 'UserRemoved':
      changes.removed.push({ ...data, customerId, revision, removedAt: occurredAt });
      return;
    case 'BrowserOriginRegistered':
      changes.origins.push({ ...data, customerId, registeredAt: occurredAt });
      return;
    case 'BrowserOriginRemoved':
      changes.removedOrigins.push({ ...data, customerId, removedAt: occurredAt });
      return;
    case 'ApiKeyIssued':
      changes.issued.push({ customerId, keyId: data.keyId });
      return;
    case 'ApiKeyRevoked':
      changes.revoked.push({ customerId, keyId: data.keyId, revokedAt: occurredAt });
      return;
    // Commands write their rows (docs/design/sign-in.md).
    case 'UserInvited':
    case 'InvitationRevoked':
    case 'UserLinkIssued':
    case 'PasswordSet':
    case 'EmailVerified':
    case 'TotpEnabled':
    case 'TotpDisabled':
    case 'LookupCodeUsed':
      return;
    default:
      return type satisfies never;
  }
};

const announce = async (client: ClientBase, keys: readonly KeyOfAccount[]): Promise<void> => {
  if (keys.length === 0) return;
  await client.query({
    name: 'api-keys-announced',
    text: `update api_keys k set announced = true
           from (select * from unnest($1::text[], $2::bigint[]) as k(key_id, customer_id) order by 1) issued
           where k.key_id = issued.key_id and k.customer_id = issued.customer_id and not k.announced`,
    values: [keys.map(({ keyId }) => keyId), keys.map(({ customerId }) => customerId)],
  });
};

/** Usually the command did it; not if the database was restored to a time before. */
const revoke = async (client: ClientBase, keys: AccountChanges['revoked']): Promise<void> => {
  if (keys.length === 0) return;
  await client.query({
    name: 'api-keys-revoked-by-event',
    text: `update api_keys k set revoked_at = changes.revoked_at, sealed_secret = null
           from (select * from unnest($1::text[], $2::bigint[], $3::timestamptz[])
               as k(key_id, customer_id, revoked_at) order by 1) changes
           where k.key_id = changes.key_id and k.customer_id = changes.customer_id and k.revoked_at is null`,
    values: [
      keys.map(({ keyId }) => keyId),
      keys.map(({ customerId }) => customerId),
      keys.map(({ revokedAt }) => revokedAt),
    ],
  });
};
