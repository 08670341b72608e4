import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { disableSecondFactor, issueLink, removeUser, setRole } from '../../cli/operate-users.ts';
import { forgetAccount, withForgetting } from '../../cli/forget.ts';
import { setAccess } from '../../cli/operate-accounts.ts';
import { readConfig } from '../../app/config.ts';
import { createLog } from '../../app/log.ts';
import type { MemberResource } from '../../domain/accounts/resource.ts';
import { apiOf, conflict, invalid, notFound, refusalOf, type Api } from '../support/api-client.ts';
import { accept, addMember, invitationToken, invite, members } from '../support/invited.ts';
import { GOOD_PASSWORD, Person, signIn, signUp, type SignedUp } from '../support/person.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

let service: RunningService;
let admin: SignedUp;
let log = '';
beforeAll(async () => {
  service = await startRunningService(
    {},
    pino({ level: 'trace' }, { write: (line: string) => void (log += line) }),
  );
  admin = await signUp(service);
});
afterAll(() => service.stop());

let addresses = 0;
const newAddress = (): string => `member-${(addresses += 1)}@example.test`;
const listOf = async ({ person }: Pick<SignedUp, 'person'>, query = '?take=200') =>
  person.get<MemberResource[]>(`${members}${query}`);
const eventsOf = ({ customerId }: Pick<SignedUp, 'customerId'>) => service.eventsOf(`account-${customerId}`);
const keyOf = async ({ person }: Pick<SignedUp, 'person'>, scopes?: readonly string[]): Promise<Api> => {
  const answer = await person.post<{ key: string }>('/api/v2/buyer/api-keys', {
    name: 'Key',
    ...(scopes === undefined ? {} : { scopes }),
  });
  expect([answer.status, answer.text]).toEqual([201, expect.anything()]);
  return apiOf(service.baseUrl, { Authorization: `Bearer ${answer.body.data.key}` });
};

describe('the members of an account', () => {
  it('are listed with address and last sign-in, newest first, in pages', async () => {
    const host = await signUp(service);
    const other = await addMember(service, host, newAddress());
    const listed = await listOf(host);
    expect([listed.status, listed.body.data]).toEqual([
      200,
      [
        {
          id: other.userId,
          name: 'Mo',
          email: other.email,
          role: 'member',
          lastSignInAt: expect.any(String),
          createdAt: expect.any(String),
        },
        {
          id: host.userId,
          name: 'Administrator',
          email: host.email,
          role: 'admin',
          lastSignInAt: expect.any(String),
          createdAt: expect.any(String),
        },
      ],
    ]);
    expect((await listOf(other)).body.data).toHaveLength(2);
    const page = await listOf(host, '?take=1&skip=1');
    expect([page.body.data.map(({ id }) => id), page.body.meta.pagination]).toEqual([
      [host.userId],
      { skip: 1, take: 1, total: 2, hasMore: false },
    ]);
  });

  it('are changed and removed by admins only', async () => {
    const member = await addMember(service, admin, newAddress());
    const answers = [
      await member.person.put(`${members}/${admin.userId}`, { role: 'member' }),
      await member.person.put(`${members}/${member.userId}`, { role: 'admin' }),
      await member.person.delete(`${members}/${admin.userId}`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
  });

  it('of another account are not found', async () => {
    const other = await signUp(service);
    const foreign = await admin.person.put(`${members}/${other.userId}`, { role: 'member' });
    expect(refusalOf(foreign)).toEqual(notFound());
    expect((await admin.person.put(`${members}/none`, { role: 'member' })).text).toBe(foreign.text);
    expect(refusalOf(await admin.person.delete(`${members}/${other.userId}`))).toEqual(notFound());
    expect((await listOf(other)).body.data).toHaveLength(1);
  });
});

describe('a role', () => {
  it('holds from the next request of each credential on, a hundred times', async () => {
    const host = await signUp(service);
    const user = await addMember(service, host, newAddress(), 'admin');
    const key = await keyOf(user);
    for (let n = 0; n < 50; n += 1) {
      for (const [role, status] of [
        ['member', 403],
        ['admin', 200],
      ] as const) {
        const changed = await host.person.put<MemberResource>(`${members}/${user.userId}`, { role });
        expect([changed.status, changed.body.data]).toMatchObject([200, { id: user.userId, role }]);
        expect((await user.person.get('/api/v2/buyer/api-keys')).status).toBe(status);
        expect((await key.get('/api-keys')).status).toBe(status);
        expect((await key.get('/advertisers')).status).toBe(200);
      }
    }
    const key2 = await keyOf(user, ['exchange:admin']);
    await host.person.put(`${members}/${user.userId}`, { role: 'member' });
    const refused = await key2.get('/api-keys');
    expect([refused.status, refused.body.error?.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('that the user has already appends no event', async () => {
    const before = (await eventsOf(admin)).length;
    const answer = await admin.person.put(`${members}/${admin.userId}`, { role: 'admin' });
    expect(answer.status).toBe(200);
    expect(await eventsOf(admin)).toHaveLength(before);
  });

  it('of sellers belongs to their accounts', async () => {
    const member = await addMember(service, admin, newAddress());
    const refused = await admin.person.put(`${members}/${member.userId}`, { role: 'seller' });
    expect(refusalOf(refused)).toEqual(conflict('role'));
  });
});

describe('the last admin', () => {
  it('can neither be removed nor get another role, and the answer says what to do', async () => {
    const host = await signUp(service);
    await addMember(service, host, newAddress());
    const answers = [
      await host.person.put(`${members}/${host.userId}`, { role: 'member' }),
      await host.person.delete(`${members}/${host.userId}`),
    ];
    expect(answers.map(refusalOf)).toEqual([conflict(), conflict()]);
    expect(answers[0]?.body.error?.message).toBe(
      'The account would have no admin. Make another member an admin first.',
    );
    await expect(removeUser(service.installation, host)).rejects.toThrow('no admin');
    await expect(setRole(service.installation, host, 'member')).rejects.toThrow('no admin');
  });

  it('stays when two admins remove each other at once', async () => {
    for (let n = 0; n < 5; n += 1) {
      const one = await signUp(service);
      const two = await addMember(service, one, newAddress(), 'admin');
      await Promise.all([
        one.person.delete(`${members}/${two.userId}`),
        two.person.delete(`${members}/${one.userId}`),
      ]);
      const { rows } = await service.pool.query(
        `select user_id from users where customer_id = $1 and role = 'admin'`,
        [one.customerId],
      );
      expect(rows).toHaveLength(1);
      const removed = (await eventsOf(one)).filter(({ type }) => type === 'UserRemoved');
      expect(removed).toHaveLength(1);
    }
  });
});

describe('a removed user', () => {
  it('is refused with every credential on the next request', async () => {
    const host = await signUp(service);
    const user = await addMember(service, host, newAddress(), 'admin');
    const key = await keyOf(user);
    expect((await key.get('/advertisers')).status).toBe(200);
    expect((await host.person.delete(`${members}/${user.userId}`)).status).toBe(204);
    expect((await key.get('/advertisers')).status).toBe(401);
    expect((await user.person.get('/api/v2/buyer/advertisers')).status).toBe(401);
    expect((await signIn(new Person(service), user.email)).status).toBe(401);
    const reset = await new Person(service).post('/auth/password-reset/request', { email: user.email });
    expect(reset.status).toBe(202);
    expect((await listOf(host)).body.data.map(({ id }) => id)).toEqual([host.userId]);
    expect((await host.person.delete(`${members}/${user.userId}`)).status).toBe(404);
    const types = (await eventsOf(host)).slice(-2).map(({ type }) => type);
    expect(types).toEqual(['UserRemoved', 'ApiKeyRevoked']);
  });

  it('leaves no invitation that the user sent; others stay', async () => {
    const host = await signUp(service);
    const user = await addMember(service, host, newAddress(), 'admin');
    const address = newAddress();
    const [sent, kept] = [await invite(user, address), await invite(host, newAddress())];
    const token = await invitationToken(service, sent.id);
    await host.person.delete(`${members}/${user.userId}`);
    const open = await host.person.get<{ id: string }[]>('/api/v2/accounts/current/invitations');
    expect(open.body.data.map(({ id }) => id)).toEqual([kept.id]);
    expect(refusalOf(await accept(new Person(service), token))).toEqual(invalid('token'));
    expect(await tablesWith(address)).toEqual([]);
    expect((await eventsOf(host)).at(-1)).toMatchObject({
      type: 'InvitationRevoked',
      data: { invitationId: sent.id },
    });
    expect((await accept(new Person(service), await invitationToken(service, kept.id))).status).toBe(201);
  });

  it('leaves no invitation either if the process ended before it wrote the rows', async () => {
    const host = await signUp(service);
    const user = await addMember(service, host, newAddress(), 'admin');
    const token = await invitationToken(service, (await invite(user, newAddress())).id);
    await service.pool.query('alter table invitations rename to invitations_away');
    try {
      expect((await host.person.delete(`${members}/${user.userId}`)).status).toBe(500);
    } finally {
      await service.pool.query('alter table invitations_away rename to invitations');
    }
    expect(refusalOf(await accept(new Person(service), token))).toEqual(invalid('token'));
  });

  it('stays removed when a late write of another process brings the role of before', async () => {
    const host = await signUp(service);
    const user = await addMember(service, host, newAddress());
    const { rows } = await service.pool.query<{ revision: string; created_at: Date }>(
      'select revision, created_at from users where user_id = $1',
      [user.userId],
    );
    await host.person.delete(`${members}/${user.userId}`);
    const { accountRowsIn } = await import('../../projections/account-rows.ts');
    await accountRowsIn(service.pool).writeUsers([
      {
        customerId: host.customerId,
        userId: user.userId,
        name: 'Mo',
        role: 'member',
        revision: Number(rows[0]?.revision),
        addedAt: rows[0]?.created_at.toISOString() ?? '',
      },
    ]);
    expect((await user.person.get('/api/v2/buyer/advertisers')).status).toBe(401);
  });
});

/** Where the text is in the database, in any column of any table. */
const tablesWith = async (text: string): Promise<readonly string[]> => {
  const { rows: tables } = await service.pool.query<{ name: string }>(
    `select format('%I', c.relname) as name from pg_class c
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace order by 1`,
  );
  const client = new pg.Client({ connectionString: service.databaseUrl, options: '-c app.access=system' });
  await client.connect();
  try {
    const found: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query(`select from ${name} t where position($1 in lower(t::text)) > 0`, [
        text.toLowerCase(),
      ]);
      if (rows.length > 0) found.push(name);
    }
    return found;
  } finally {
    await client.end();
  }
};

const filesWith = async (text: string): Promise<readonly string[]> => {
  const names = await readdir(service.dataDir, { recursive: true });
  const found: string[] = [];
  for (const name of names) {
    const bytes = await readFile(join(service.dataDir, name)).catch(() => Buffer.alloc(0));
    if (bytes.includes(text)) found.push(name);
  }
  return found;
};

describe('the address of a user', () => {
  it('is in the audit log as long as the user is a member', async () => {
    const host = await signUp(service);
    const user = await addMember(service, host, newAddress(), 'admin');
    await user.person.post('/api/v2/buyer/advertisers', { name: 'Audited' });
    const emails = async () => {
      const audit = await host.person.get<{ logs: readonly { userEmail?: string; userId?: string }[] }>(
        `/api/v2/buyer/audit-logs?actorUserId=${user.userId}`,
      );
      return audit.body.data.logs.map(({ userId, userEmail }) => [userId, userEmail]);
    };
    expect(await emails()).toContainEqual([user.userId, user.email]);
    await host.person.delete(`${members}/${user.userId}`);
    const after = await emails();
    expect(after.length).toBeGreaterThan(0);
    expect(after).toEqual(after.map(() => [user.userId, undefined]));
  });

  it('is nowhere after the removal, except in mails that were handed over', async () => {
    const host = await signUp(service);
    const user = await addMember(service, host, 'forgotten-member@example.test');
    await signIn(user.person, user.email);
    expect(await tablesWith(user.email)).toEqual(['user_addresses']);
    await host.person.delete(`${members}/${user.userId}`);
    expect(await tablesWith(user.email)).toEqual([]);
    expect(JSON.stringify(await service.readLog())).not.toContain(user.email);
    expect(log).toContain('request');
    expect(log).not.toContain(user.email);
    expect((await filesWith(user.email)).filter((name) => !name.startsWith('outbox/'))).toEqual([]);
  });

  it('is nowhere after `exchange forget` of the account', async () => {
    const host = await signUp(service, 'forgotten-admin@example.test');
    await addMember(service, host, 'forgotten-other@example.test');
    await invite(host, 'forgotten-invited@example.test');
    await setAccess(service.installation, host.customerId, 'disabled');
    const config = readConfig({
      NODE_ENV: 'test',
      DATABASE_URL: service.databaseUrl,
      DATA_DIR: service.dataDir,
      SECRET_KEYS: `test:${'A'.repeat(43)}`,
    });
    await withForgetting(service.installation, config, host.customerId, createLog('silent'), forgetAccount);
    for (const address of ['forgotten-admin', 'forgotten-other', 'forgotten-invited'])
      expect(await tablesWith(`${address}@example.test`)).toEqual([]);
    for (const table of ['sessions', 'logins', 'invitations', 'one_time_links', 'user_addresses']) {
      const { rows } = await service.pool.query(`select from ${table} where customer_id = $1`, [
        host.customerId,
      ]);
      expect([table, rows.length]).toEqual([table, 0]);
    }
    expect((await eventsOf(host)).at(-1)?.type).toBe('AccountDisabled');
    const erased = await service.eventsOf(`personalData-${host.customerId}`);
    expect(erased.map(({ type }) => type)).toEqual(['PersonalDataForgotten']);
  });
});

describe('without any mail, the operator', () => {
  const setUp = (token: string, email: string, more: object = {}) =>
    new Person(service).post<{ userId: string }>('/auth/set-up', {
      token,
      email,
      password: `${GOOD_PASSWORD} again`,
      ...more,
    });

  it('lets the first admin of an account choose a password', async () => {
    const { customerId } = await service.openAccount();
    const userId = `${customerId}-1`;
    const first = await issueLink(service.installation, { customerId, userId });
    const { token } = await issueLink(service.installation, { customerId, userId });
    const email = newAddress();
    expect((await setUp(first.token, email)).status).toBe(400);
    expect((await setUp(token, email)).body.data).toMatchObject({ userId });
    expect((await setUp(token, email)).status).toBe(400);
    const types = (await service.eventsOf(`account-${customerId}`)).map(({ type, metadata }) => [
      type,
      metadata.actor,
    ]);
    expect(types.filter(([type]) => type === 'UserLinkIssued')).toEqual([
      ['UserLinkIssued', 'operator'],
      ['UserLinkIssued', 'operator'],
    ]);
  });

  it('resets a lost password and a lost second factor', async () => {
    const user = await signUp(service);
    const { token } = await issueLink(service.installation, user);
    expect((await setUp(token, user.email)).status).toBe(201);
    expect((await signIn(new Person(service), user.email)).status).toBe(401);
    expect((await signIn(new Person(service), user.email, `${GOOD_PASSWORD} again`)).status).toBe(200);
    await disableSecondFactor(service.installation, user);
  });

  it('has no link for a removed user, and removal ends an open one', async () => {
    const host = await signUp(service);
    const user = await addMember(service, host, newAddress());
    const { token } = await issueLink(service.installation, user);
    await removeUser(service.installation, user);
    expect((await setUp(token, newAddress())).status).toBe(400);
    await expect(issueLink(service.installation, user)).rejects.toThrow('has no user');
  });
});
