import type { ClientBase } from 'pg';
import { accountEvents, type AccountEvent } from '../domain/accounts/account-events.ts';
import { accountStream, firstUser } from '../domain/accounts/account.ts';
import {
  writeAccess,
  writeOpened,
  writeUsers,
  type AccessRow,
  type OpenedRow,
  type UserRow,
} from '../shared/auth/account-rows.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { UnprojectableEventError, type Projection } from './engine/projection.ts';

/**
 * Follows the accounts' streams into the rows that credentials are checked against: `accounts`, `users`,
 * `api_keys`. Commands write these rows themselves, before they answer; this makes up for those that were cut off
 * between event and row. It never makes a key's row: the hash in it is in no event.
 */
export const credentialsProjection: Projection = {
  name: 'credentials',
  categories: ['account'],
  // None of them is emptied: a key's hash cannot be found again.
  tables: [],
  forget: async (client) => {
    // Revisions of a log that may have been replaced: those that come are believed again. Until all have come, no
    // credential is accepted (`whole_at`): between an account's "enabled" and the "disabled" behind it, it looks open.
    await client.query('update accounts set access_revision = 0 where access_revision > 0');
  },
  apply: async (client, events) => {
    const said = readEvents(events);
    await writeOpened(client, said.opened);
    await writeAccess(client, [...said.access.values()]);
    await writeUsers(client, said.users);
    await announce(client, said.issued);
    await revoke(client, said.revoked);
  },
};

interface KeyOfAccount {
  readonly customerId: number;
  readonly keyId: string;
}

interface Said {
  readonly opened: OpenedRow[];
  /** The last word on each account. */
  readonly access: Map<number, AccessRow>;
  readonly users: UserRow[];
  readonly issued: KeyOfAccount[];
  readonly revoked: (KeyOfAccount & { readonly revokedAt: string })[];
}

const readEvents = (events: readonly RecordedEvent[]): Said => {
  const said: Said = { opened: [], access: new Map(), users: [], issued: [], revoked: [] };
  for (const event of events) {
    const { customerId } = event.metadata;
    // A row goes where its stream's name says: no event may reach another account's rows.
    if (accountStream(customerId) !== event.stream) {
      throw new UnprojectableEventError(event, `the stream is not that of account ${customerId}`);
    }
    readEvent(said, customerId, event, decodeEvent(event, accountEvents) as AccountEvent);
  }
  return said;
};

const readEvent = (
  said: Said,
  customerId: number,
  { revision }: RecordedEvent,
  { type, data, occurredAt }: AccountEvent,
): void => {
  switch (type) {
    case 'AccountOpened':
      said.opened.push({ customerId, name: data.name, sellerId: data.sellerId });
      said.users.push({ customerId, ...firstUser(customerId, data.sellerId) });
      return;
    case 'AccountDisabled':
      said.access.set(customerId, { customerId, revision, disabledAt: occurredAt });
      return;
    case 'AccountEnabled':
      said.access.set(customerId, { customerId, revision, disabledAt: null });
      return;
    case 'UserAdded':
      said.users.push({ customerId, ...data });
      return;
    case 'ApiKeyIssued':
      said.issued.push({ customerId, keyId: data.keyId });
      return;
    case 'ApiKeyRevoked':
      said.revoked.push({ customerId, keyId: data.keyId, revokedAt: occurredAt });
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
           from (select * from unnest($1::text[], $2::bigint[]) as asked(key_id, customer_id) order by 1) issued
           where k.key_id = issued.key_id and k.customer_id = issued.customer_id and not k.announced`,
    values: [keys.map(({ keyId }) => keyId), keys.map(({ customerId }) => customerId)],
  });
};

/** Usually done before its event; not when the database was restored to before it. */
const revoke = async (client: ClientBase, keys: Said['revoked']): Promise<void> => {
  if (keys.length === 0) return;
  await client.query({
    name: 'api-keys-revoked-by-event',
    text: `update api_keys k set revoked_at = said.revoked_at, sealed_secret = null
           from (select * from unnest($1::text[], $2::bigint[], $3::timestamptz[])
               as asked(key_id, customer_id, revoked_at) order by 1) said
           where k.key_id = said.key_id and k.customer_id = said.customer_id and k.revoked_at is null`,
    values: [
      keys.map(({ keyId }) => keyId),
      keys.map(({ customerId }) => customerId),
      keys.map(({ revokedAt }) => revokedAt),
    ],
  });
};
