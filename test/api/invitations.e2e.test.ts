import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inviteUser } from '../../cli/operate-users.ts';
import { invitationHousekeeping } from '../../command/accounts/settle-invitations.ts';
import { createLinkTokenOf } from '../../command/workers/mail/link-token.ts';
import type { InvitationResource } from '../../domain/accounts/resource.ts';
import { systemClock } from '../../shared/async/clock.ts';
import { conflict, invalid, notFound, refusalOf, untilDefinite } from '../support/api-client.ts';
import { accept, addMember, invitations, invitationToken, invite, members } from '../support/invited.ts';
import { GOOD_PASSWORD, Person, signIn, signUp, type SignedUp } from '../support/person.ts';
import { readOutbox } from '../support/read-mail.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

let service: RunningService;
let admin: SignedUp;
beforeAll(async () => {
  service = await startRunningService();
  admin = await signUp(service);
});
afterAll(() => service.stop());

let addresses = 0;
const newAddress = (): string => `invited-${(addresses += 1)}@example.test`;
const open = async (who: SignedUp = admin): Promise<readonly InvitationResource[]> =>
  (await who.person.get<InvitationResource[]>(`${invitations}?take=200`)).body.data;
const eventsOf = ({ customerId }: Pick<SignedUp, 'customerId'>) => service.eventsOf(`account-${customerId}`);
const housekeeping = () => {
  const { keys } = service.installation;
  return invitationHousekeeping({
    ...service.installation,
    clock: systemClock,
    linkTokenOf: createLinkTokenOf(keys),
  });
};

describe('inviting', () => {
  it('sends a link that makes the person a user of the account, signed in', async () => {
    const email = newAddress();
    const invitation = await invite(admin, email, 'member');
    expect(invitation).toEqual({
      id: expect.any(String),
      email,
      role: 'member',
      status: 'OPEN',
      expiresAt: expect.any(String),
      createdAt: expect.any(String),
    });
    expect(Date.parse(invitation.expiresAt) - Date.parse(invitation.createdAt)).toBe(7 * 86_400_000);
    expect(await open()).toEqual([invitation]);
    const token = await invitationToken(service, invitation.id);
    expect((await readOutbox(service.dataDir)).get(invitation.id)?.headers).toMatchObject({
      to: email,
      subject: 'Join Acme Tools on the Buyer Exchange',
    });
    const person = new Person(service);
    const accepted = await accept(person, token, { name: 'Mo' });
    expect([accepted.status, accepted.body.data]).toEqual([
      201,
      { userId: `${admin.customerId}-2`, customerId: admin.customerId },
    ]);
    expect((await person.get('/api/v2/accounts/current/user')).body.data).toMatchObject({
      id: `${admin.customerId}-2`,
      name: 'Mo',
      email,
      emailVerified: true,
      role: 'member',
    });
    expect((await signIn(new Person(service), email)).status).toBe(200);
    expect(await open()).toEqual([]);
    const audit = await admin.person.get<{ logs: readonly object[] }>(
      `/api/v2/buyer/audit-logs?actions=UserAdded&actorOrigin=INVITATION`,
    );
    expect(audit.body.data.logs).toEqual([
      expect.objectContaining({ actor: `invitation:${invitation.id}`, resourceName: 'Mo' }),
    ]);
    expect((await eventsOf(admin)).slice(-3)).toMatchObject([
      { type: 'UserAdded', data: { name: 'Mo', role: 'member', invitationId: invitation.id } },
      { type: 'PasswordSet', data: { by: 'invitation' } },
      { type: 'EmailVerified' },
    ]);
  });

  it('arrives for an account with any name, which stays on one line of the mail', async () => {
    const person = new Person(service);
    const company = `Acme\r\n\nYou won: https://evil.example/\u202e\t${'long name '.repeat(8)}`;
    const email = newAddress();
    expect((await person.post('/auth/signup', { email, company, password: GOOD_PASSWORD })).status).toBe(201);
    const { id } = await invite({ person }, newAddress());
    await invitationToken(service, id);
    const mail = (await readOutbox(service.dataDir)).get(id);
    expect(mail?.headers['subject']).toMatch(
      /^Join Acme You won: https:\/\/evil\.example\/ long name .* on the Buyer Exchange$/,
    );
    expect(mail?.text).toContain('"Acme You won: https://evil.example/ long name ');
    expect(mail?.text).not.toMatch(/\u202e|^You won/m);
  });

  it('stores the address in no event', async () => {
    const email = newAddress();
    await addMember(service, admin, email);
    expect(JSON.stringify(await service.readLog())).not.toContain(email);
  });

  it('refuses the address of a member, and invites that of another account without saying so', async () => {
    const known = await admin.person.post(invitations, { email: admin.email.toUpperCase(), role: 'member' });
    expect(refusalOf(known)).toEqual(conflict('email'));
    const other = await signUp(service);
    const { id } = await invite(admin, other.email);
    const accepted = await accept(new Person(service), await invitationToken(service, id));
    expect(refusalOf(accepted)).toEqual(conflict());
    expect(accepted.text).not.toContain(other.email);
  });

  it('has at most 100 open invitations, also when they are sent at once', async () => {
    const host = await signUp(service);
    const answers = await Promise.all(
      Array.from({ length: 105 }, (_, n) => {
        const body = { email: newAddress(), role: 'member' };
        // On a busy machine some are answered 503 first. With its key, a repeat invites once.
        const once = { 'Idempotency-Key': `invited-at-once-${n}` };
        return untilDefinite(() => host.person.post<InvitationResource>(invitations, body, once));
      }),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(100);
    const refused = answers.find(({ status }) => status !== 201);
    expect([refused?.status, refused?.body.error]).toEqual([
      409,
      expect.objectContaining({ code: 'CONFLICT', details: { limit: 100, active: 100 } }),
    ]);
    const listed = await open(host);
    expect(listed).toHaveLength(100);
    expect((await host.person.delete(`${invitations}/${listed[0]?.id}`)).status).toBe(204);
    await invite(host, newAddress());
  });

  it('is bounded by address and by account, also if each invitation is revoked; refused ones do not count', async () => {
    const settings = { LIMIT_INVITED_ADDRESS: '1/3600', LIMIT_INVITATIONS: '3/86400' };
    const bounded = await startRunningService(settings);
    try {
      const [host, other] = [await signUp(bounded), await signUp(bounded)];
      const [address, second] = [newAddress(), newAddress()];
      const send = (who: SignedUp, email: string, role = 'member', headers = {}) =>
        who.person.post<InvitationResource>(invitations, { email, role }, headers);
      expect((await send(host, address, 'seller')).status).toBe(409);
      const once = { 'Idempotency-Key': 'invited-within-bounds' };
      const { id } = (await send(host, address, 'member', once)).body.data;
      expect((await send(host, address, 'member', once)).status).toBe(201);
      expect((await host.person.delete(`${invitations}/${id}`)).status).toBe(204);
      const again = await send(host, address.toUpperCase());
      expect([again.status, again.body.error?.code]).toEqual([429, 'RATE_LIMITED']);
      const waitSeconds = Number(again.headers.get('retry-after'));
      expect(waitSeconds).toBeGreaterThan(3_500);
      expect(waitSeconds).toBeLessThanOrEqual(3_600);
      expect((await send(other, address)).status).toBe(201);
      expect((await send(host, second)).status).toBe(201);
      expect((await send(host, newAddress())).status).toBe(201);
      const full = await send(host, newAddress());
      expect([full.status, full.body.error?.code]).toEqual([429, 'RATE_LIMITED']);
      expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(86_000);
      expect((await send(other, second)).status).toBe(201);
      // The operator is not bounded.
      const asked = { email: address, role: 'member' } as const;
      const byOperator = await inviteUser(bounded.installation, host.customerId, asked);
      expect(byOperator.invitation.status).toBe('OPEN');
    } finally {
      await bounded.stop();
    }
  });

  it('is for admins, and not for sellers', async () => {
    const member = await addMember(service, admin, newAddress());
    for (const answer of [
      await member.person.get(invitations),
      await member.person.post(invitations, { email: newAddress(), role: 'member' }),
      await member.person.delete(`${invitations}/any`),
    ])
      expect([answer.status, answer.body.error?.code]).toEqual([403, 'FORBIDDEN']);
    const seller = await admin.person.post(invitations, { email: newAddress(), role: 'seller' });
    expect(refusalOf(seller)).toEqual(conflict('role'));
  });

  it('repeated with the same key, sends one mail and gives the same answer', async () => {
    const headers = { 'Idempotency-Key': 'invite-once-0123456' };
    const body = { email: newAddress(), role: 'member' };
    const first = await admin.person.post(invitations, body, headers);
    const again = await admin.person.post(invitations, body, headers);
    expect([first.status, again.text]).toEqual([201, first.text]);
    const { rows } = await service.pool.query('select from idempotency_keys k where k::text like $1', [
      `%${body.email}%`,
    ]);
    expect(rows).toEqual([]);
  });
});

describe('accepting', () => {
  it('twice at once makes one user', async () => {
    const email = newAddress();
    const { id } = await invite(admin, email);
    const token = await invitationToken(service, id);
    const before = (await eventsOf(admin)).length;
    const passwords = Array.from({ length: 6 }, (_, n) => `${GOOD_PASSWORD} ${n}`);
    const answers = await Promise.all(
      passwords.map((password) => accept(new Person(service), token, { password })),
    );
    const winners = answers.flatMap(({ status }, n) => (status === 201 ? [n] : []));
    expect(winners).toHaveLength(1);
    const losers = answers.filter(({ status }) => status !== 201).map(refusalOf);
    expect(losers.filter(([status]) => status !== 503)).toEqual(
      losers.filter(([status]) => status !== 503).map(() => invalid('token')),
    );
    const added = (await eventsOf(admin)).slice(before).filter(({ type }) => type === 'UserAdded');
    expect(added).toHaveLength(1);
    const signedIn = await Promise.all(
      passwords.map(async (password) => (await signIn(new Person(service), email, password)).status),
    );
    expect(signedIn.flatMap((status, n) => (status === 200 ? [n] : []))).toEqual(winners);
  });

  it('repeats with the same key sign in again', async () => {
    const { id } = await invite(admin, newAddress());
    const token = await invitationToken(service, id);
    const headers = { 'Idempotency-Key': 'accept-once-0123456' };
    const body = { token, name: 'Mo', password: GOOD_PASSWORD };
    const person = new Person(service);
    const first = await person.post('/auth/invitations/accept', body, headers);
    const again = await person.post('/auth/invitations/accept', body, headers);
    expect([first.status, again.status, again.body.data]).toEqual([201, 201, first.body.data]);
    expect((await person.get('/api/v2/accounts/current/user')).status).toBe(200);
  });

  it('is refused for an unknown, used or revoked link, in the same way', async () => {
    const used = await invite(admin, newAddress());
    const token = await invitationToken(service, used.id);
    expect((await accept(new Person(service), token)).status).toBe(201);
    const revoked = await invite(admin, newAddress());
    const revokedToken = await invitationToken(service, revoked.id);
    expect((await admin.person.delete(`${invitations}/${revoked.id}`)).status).toBe(204);
    const answers = [
      await accept(new Person(service), 'x'.repeat(43)),
      await accept(new Person(service), token),
      await accept(new Person(service), revokedToken),
    ];
    expect(answers.map(refusalOf)).toEqual([invalid('token'), invalid('token'), invalid('token')]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it('is refused after 7 days', async () => {
    const { id } = await invite(admin, newAddress());
    const token = await invitationToken(service, id);
    await service.pool.query(`update one_time_links set expires_at = now() where subject = $1`, [id]);
    await service.pool.query(`update invitations set expires_at = now() where invitation_id = $1`, [id]);
    expect(refusalOf(await accept(new Person(service), token))).toEqual(invalid('token'));
    expect(await open()).toContainEqual(expect.objectContaining({ id, status: 'EXPIRED' }));
    await service.pool.query(
      `update invitations set expires_at = now() - interval '8 days' where invitation_id = $1`,
      [id],
    );
    await housekeeping().invitations.purge(1_000);
    expect((await open()).filter((one) => one.id === id)).toEqual([]);
  });

  it('is refused for a guessable password, and from a page of another origin', async () => {
    const { id } = await invite(admin, newAddress());
    const token = await invitationToken(service, id);
    const guessable = await accept(new Person(service), token, { password: 'acme tools 12345' });
    expect(refusalOf(guessable)).toEqual(invalid('password'));
    const foreign = await new Person(service).post(
      '/auth/invitations/accept',
      { token, name: 'Mo', password: GOOD_PASSWORD },
      { Origin: 'https://evil.example' },
    );
    expect([foreign.status, foreign.body.error?.code]).toEqual([403, 'FORBIDDEN']);
    expect((await accept(new Person(service), token)).status).toBe(201);
  });

  it('works for an address whose user was removed', async () => {
    const email = newAddress();
    const first = await addMember(service, admin, email);
    expect((await admin.person.delete(`${members}/${first.userId}`)).status).toBe(204);
    const second = await addMember(service, admin, email, 'admin');
    expect(second.userId).not.toBe(first.userId);
    expect((await signIn(new Person(service), email)).body.data).toMatchObject({ userId: second.userId });
  });
});

describe('revoking', () => {
  it('that failed half-way is refused once the user was removed, and leaves no address', async () => {
    const email = newAddress();
    const { id } = await invite(admin, email, 'member');
    const token = await invitationToken(service, id);
    await service.pool.query('alter table logins rename to logins_away');
    expect((await accept(new Person(service), token, { name: 'Half' })).status).toBe(500);
    await service.pool.query('alter table logins_away rename to logins');
    const listed = await admin.person.get<{ id: string; name: string }[]>(`${members}?take=200`);
    const added = listed.body.data.find(({ name }) => name === 'Half')?.id ?? '';
    expect((await admin.person.delete(`${members}/${added}`)).status).toBe(204);
    expect(refusalOf(await accept(new Person(service), token, { name: 'Half' }))).toEqual(invalid('token'));
    const { rows } = await service.pool.query('select from user_addresses where email = $1', [email]);
    expect(rows).toEqual([]);
  });

  it('another account has no such invitation', async () => {
    const other = await signUp(service);
    const { id } = await invite(other, newAddress());
    const foreign = await admin.person.delete(`${invitations}/${id}`);
    expect(refusalOf(foreign)).toEqual(notFound());
    for (const none of ['none', 'constructor', '__proto__']) {
      expect((await admin.person.delete(`${invitations}/${none}`)).text).toBe(foreign.text);
    }
    expect(await open(other)).toHaveLength(1);
  });

  it('is in the history and the audit log, without the address', async () => {
    const host = await signUp(service);
    const email = newAddress();
    const { id } = await invite(host, email);
    await host.person.delete(`${invitations}/${id}`);
    const history = await host.person.get<{ events: readonly { type: string }[] }>(
      `${invitations}/${id}/history`,
    );
    expect(history.body.data.events.map(({ type }) => type)).toEqual(['UserInvited', 'InvitationRevoked']);
    expect(history.text).not.toContain(email);
    const audit = await host.person.get<{ logs: readonly object[] }>(
      '/api/v2/buyer/audit-logs?resourceTypes=INVITATION',
    );
    expect(audit.body.data.logs).toEqual([
      expect.objectContaining({ action: 'InvitationRevoked', resourceId: id, userEmail: host.email }),
      expect.objectContaining({ action: 'UserInvited', resourceId: id, userEmail: host.email }),
    ]);
  });
});

describe('an interrupted invitation', () => {
  const interrupted = async (isRecorded: boolean, age: string) => {
    const host = await signUp(service);
    const { invitation } = await inviteUser(service.installation, host.customerId, {
      email: newAddress(),
      role: 'member',
    });
    await service.pool.query('delete from one_time_links where subject = $1', [invitation.id]);
    await service.pool.query(
      `update invitations set announced = false, created_at = now() - $2::interval where invitation_id = $1`,
      [invitation.id, age],
    );
    if (!isRecorded) {
      await service.pool.query(
        `update invitations set invitation_id = gen_random_uuid()::text where invitation_id = $1`,
        [invitation.id],
      );
    }
    expect(await open(host)).toEqual([]);
    await housekeeping()['unsent invitations'].purge(1_000);
    const { rows } = await service.pool.query('select announced from invitations where customer_id = $1', [
      host.customerId,
    ]);
    return { host, invitation, rows };
  };

  it('is sent later, if its event is in the log', async () => {
    const { host, invitation, rows } = await interrupted(true, '6 minutes');
    expect(rows).toEqual([{ announced: true }]);
    expect(await open(host)).toHaveLength(1);
    expect((await accept(new Person(service), await invitationToken(service, invitation.id))).status).toBe(
      201,
    );
  });

  it('is deleted without its event, once no repeat can come', async () => {
    expect((await interrupted(false, '6 minutes')).rows).toEqual([{ announced: false }]);
    expect((await interrupted(false, '3 days')).rows).toEqual([]);
  });
});
