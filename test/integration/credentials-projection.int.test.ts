import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { accountStream } from '../../domain/accounts/account.ts';
import { accountEvents, type AccountEvent } from '../../domain/accounts/events.ts';
import { accountRowsIn } from '../../projections/account-rows.ts';
import { credentialsProjection } from '../../projections/credentials.ts';
import { toNewEvents } from '../../shared/aggregate/recorded-domain-event.ts';
import type { Position, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';

/** What the read model writes when a command stopped after its event, and what late writes of commands cannot undo. */

const readModels = useReadModelDatabase();
const CUSTOMER = 7;
const at = '2026-01-01T00:00:00.000Z';

const events: readonly AccountEvent[] = [
  {
    type: 'AccountOpened',
    data: { customerId: 7, name: 'Acme', customerDomain: 'acme.com' },
    occurredAt: at,
  },
  { type: 'UserAdded', data: { userId: '7-2', name: 'Mo', role: 'member' }, occurredAt: at },
  { type: 'UserRoleChanged', data: { userId: '7-2', role: 'admin' }, occurredAt: at },
  { type: 'UserRoleChanged', data: { userId: '7-2', role: 'member' }, occurredAt: at },
  {
    type: 'BrowserOriginRegistered',
    data: { originId: 'o1', origin: 'https://acme.com', userId: '7-1' },
    occurredAt: at,
  },
  { type: 'UserRemoved', data: { userId: '7-2' }, occurredAt: at },
  { type: 'BrowserOriginRemoved', data: { originId: 'o1' }, occurredAt: at },
];
const FIRST = {
  opened: 1,
  added: 2,
  promoted: 3,
  demoted: 4,
  registered: 5,
  removed: 6,
  originRemoved: 7,
} as const;

const recorded: readonly RecordedEvent[] = events.map((event, revision) => {
  const commandId = randomUUID();
  const context = { commandId, customerId: CUSTOMER, actor: 'test', requestId: commandId };
  const [made] = toNewEvents([event], context, accountEvents);
  if (made === undefined) throw new Error('no event');
  const position = String(revision + 1).padStart(16, '0') as Position;
  return { ...made, stream: accountStream(CUSTOMER), revision, position, recordedAt: at };
});

const apply = (from: number, to: number): Promise<unknown> =>
  inTransaction(readModels.pool, (client) => credentialsProjection.apply(client, recorded.slice(from, to)));

const roles = async () =>
  (await readModels.pool.query('select user_id, role from users order by user_id')).rows.map(
    ({ user_id, role }: { user_id: string; role: string | null }) => [user_id, role],
  );
const openOrigins = async () =>
  (await readModels.pool.query('select origin from browser_origins where removed_at is null')).rows;

beforeEach(async () => {
  await readModels.pool.query(
    'truncate accounts, users, browser_origins, user_addresses, logins, sessions, one_time_links, api_keys',
  );
});

describe('the rows of members', () => {
  it.each([1, 2, 3, 7])('are the same in batches of %i events', async (size) => {
    for (let from = 0; from < events.length; from += size) await apply(from, from + size);
    expect(await roles()).toEqual([
      ['7-1', 'admin'],
      ['7-2', null],
    ]);
    expect(await openOrigins()).toEqual([]);
    const { rows } = await readModels.pool.query('select name, domain from accounts');
    expect(rows).toEqual([{ name: 'Acme', domain: 'acme.com' }]);
  });

  it('follow the last event although events are delivered again', async () => {
    await apply(0, FIRST.demoted);
    await apply(0, FIRST.promoted);
    expect(await roles()).toEqual([
      ['7-1', 'admin'],
      ['7-2', 'member'],
    ]);
    await apply(0, FIRST.originRemoved);
    await apply(0, FIRST.registered);
    expect([await roles(), await openOrigins()]).toEqual([
      [
        ['7-1', 'admin'],
        ['7-2', null],
      ],
      [],
    ]);
  });

  it('are not taken back by late writes of commands', async () => {
    await apply(0, FIRST.originRemoved);
    const rows = accountRowsIn(readModels.pool);
    const user = { customerId: CUSTOMER, userId: '7-2', revision: 1, addedAt: at };
    await rows.writeUsers([{ ...user, name: 'Mo', role: 'member' }]);
    await rows.writeRoles([{ ...user, role: 'admin', revision: 2 }]);
    const origin = { customerId: CUSTOMER, originId: 'o1', origin: 'https://acme.com', userId: '7-1' };
    await rows.writeOrigins([{ ...origin, registeredAt: at }]);
    expect([(await roles())[1], await openOrigins()]).toEqual([['7-2', null], []]);
  });

  it('become those of the log again after a rebuild from other events', async () => {
    await apply(0, FIRST.originRemoved);
    await inTransaction(readModels.pool, async (client) => credentialsProjection.forget?.(client));
    await apply(0, FIRST.demoted);
    expect(await roles()).toEqual([
      ['7-1', 'admin'],
      ['7-2', 'member'],
    ]);
    await apply(FIRST.demoted, FIRST.registered);
    expect(await openOrigins()).toEqual([{ origin: 'https://acme.com' }]);
  });
});

describe('a removal whose command stopped after the event', () => {
  it('ends sessions and keys, and deletes address, login and links, of this user only', async () => {
    const { pool } = readModels;
    await apply(0, FIRST.registered);
    for (const [userId, email] of [
      ['7-1', 'first@acme.com'],
      ['7-2', 'Mo@acme.com'],
    ] as const) {
      await pool.query(
        `insert into user_addresses (customer_id, user_id, email, email_key) values (7, $1, $2, lower($2))`,
        [userId, email],
      );
      await pool.query(`insert into logins (customer_id, user_id, password_hash) values (7, $1, 'hash')`, [
        userId,
      ]);
      await pool.query(
        `insert into sessions (customer_id, session_id, user_id, secret_hash, method, auth_time, created_at,
           last_seen_at, ends_at, address_prefix)
         values (7, gen_random_uuid(), $1, $2, 'password', now(), now(), now(), now() + interval '1 day', '-')`,
        [userId, Buffer.from(userId)],
      );
      await pool.query(
        `insert into api_keys (customer_id, key_id, user_id, secret_hash, name, masked_key, scopes, announced)
         values (7, $1, $1, $2, 'Key', 'masked', '{exchange:read}', true)`,
        [userId, Buffer.from(userId)],
      );
      await pool.query(
        `insert into one_time_links (token_hash, purpose, customer_id, user_id, data, expires_at)
         values ($2, 'set-up', 7, $1, '{}', now() + interval '1 day'),
           ($3, 'sign-up', 0, null, jsonb_build_object('email', $4::text), now() + interval '1 day')`,
        [userId, Buffer.from(`link ${userId}`), Buffer.from(`sign-up ${userId}`), email],
      );
    }
    await apply(FIRST.registered, FIRST.removed);
    const usersIn = async (table: string, condition = 'true') =>
      (await pool.query(`select user_id from ${table} where ${condition} order by 1`)).rows.map(
        ({ user_id }: { user_id: string | null }) => user_id,
      );
    expect(await usersIn('user_addresses')).toEqual(['7-1']);
    expect(await usersIn('logins')).toEqual(['7-1']);
    expect(await usersIn('one_time_links')).toEqual(['7-1', null]);
    expect(await usersIn('sessions', 'ended_at is null')).toEqual(['7-1']);
    expect(await usersIn('sessions', `end_reason = 'removed' and not end_recorded`)).toEqual(['7-2']);
    expect(await usersIn('api_keys', 'revoked_at is null')).toEqual(['7-1']);
  });
});
