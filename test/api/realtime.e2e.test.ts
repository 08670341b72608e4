import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { EventSource } from 'eventsource';
import { createKey, createUser, setAccess } from '../../cli/operate-accounts.ts';
import { setRole } from '../../cli/operate-users.ts';
import { accountStream } from '../../domain/accounts/account.ts';
import { createFeedCursors } from '../../query/notifications/cursor.ts';
import type { HubTimes } from '../../query/realtime/hub.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { startTcpProxy } from '../faults/kit/tcp-proxy.ts';
import { startOAuthService, TestClient, type OAuthService } from '../support/oauth-service.ts';
import { Person, signIn, signUp } from '../support/person.ts';
import type { RunningService, TestAccount } from '../support/running-service.ts';
import { openStream, type Frame, type OpenStream } from '../support/sse.ts';
import { until } from '../support/until.ts';

const SHORT: Partial<HubTimes> = { heartbeat: 500, cursor: 3_500 };

let oauth: OAuthService;
let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  oauth = await startOAuthService({}, { realtime: SHORT });
  ({ service } = oauth);
  account = await service.openAccount();
});
afterAll(() => service.stop());

const streams: OpenStream[] = [];
afterEach(async () => {
  await Promise.all(streams.splice(0).map((stream) => stream.close()));
  await until(async () => (await openLeases()) === 0);
});

const openLeases = async (): Promise<number> => {
  const { rows } = await service.pool.query<{ count: number }>(
    'select count(*)::int as count from realtime_leases',
  );
  return rows[0]?.count ?? 0;
};

const bearer = ({ apiKey }: { readonly apiKey: string }) => ({ Authorization: `Bearer ${apiKey}` });
const stream = async (
  query = '',
  headers: Readonly<Record<string, string>> = {},
  of: { readonly apiKey: string } = account,
): Promise<OpenStream> => {
  const opened = await openStream(service.baseUrl, { ...bearer(of), ...headers }, query);
  streams.push(opened);
  return opened;
};

let names = 0;
const createAdvertiser = async (of = account): Promise<number> => {
  const { status, body } = await of.api.post<{ id: number }>('/advertisers', {
    name: `Live ${(names += 1)}`,
  });
  expect(status).toBe(201);
  return body.data.id;
};
const kinds = (frames: readonly Frame[]): readonly string[] => frames.map(({ event }) => event);
const bodyOf = (frame: Frame | undefined) =>
  JSON.parse(frame?.data ?? 'null') as {
    readonly id: string;
    readonly type: string;
    readonly timestamp: string;
    readonly data: { readonly resourceId: string; readonly advertiserId: string; readonly url: string };
  };

describe('a stream', () => {
  it('is text that no proxy stores, changes or buffers, and begins with `retry` and `ready`', async () => {
    const opened = await stream();
    expect(opened.status).toBe(200);
    expect(Object.fromEntries(opened.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    expect(opened.headers.has('content-encoding')).toBe(false);
    expect([...opened.headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    await opened.until((frames) => frames.length === 1);
    expect(opened.text()).toMatch(/^retry: [1-3]\d{3}\nid: [\w-]{50,200}\nevent: ready\ndata: \{\}\n\n$/);
  });

  it('gets what a write does, with the body of `GET /events`, and a read then sees it', async () => {
    const opened = await stream();
    const id = await createAdvertiser();
    const [, frame] = await opened.until((frames) => frames.length === 2);
    expect(frame?.event).toBe('advertiser.created');
    expect(bodyOf(frame)).toMatchObject({
      type: 'advertiser.created',
      data: {
        resourceId: String(id),
        revision: 1,
        url: `${service.baseUrl}/api/v2/buyer/advertisers/${id}?asOf=1`,
      },
    });
    const asOf = await fetch(bodyOf(frame).data.url, { headers: bearer(account) });
    expect([asOf.status, await asOf.json()]).toEqual([
      200,
      expect.objectContaining({ data: expect.objectContaining({ id }) }),
    ]);
    const list = await account.api.get<{ id: number }[]>('/advertisers?take=200');
    expect(list.body.data.map((one) => one.id)).toContain(id);
    const events = await account.api.get<{ events: object[] }>('/events?types=advertiser.created&take=200');
    expect(events.body.data.events).toContainEqual(bodyOf(frame));
  });

  it('gets only its topics, and only its advertiser', async () => {
    const [one, other] = [await createAdvertiser(), await createAdvertiser()];
    const byTopic = await stream('?topics=advertiser.archived,campaign.*');
    const ofOne = await stream(`?advertiserId=${one}`);
    await account.api.put(`/advertisers/${one}`, { name: 'Renamed' });
    await account.api.delete(`/advertisers/${other}`);
    const campaign = await account.api.post('/campaigns', { advertiserId: one, name: 'Spring' });
    expect(campaign.status).toBe(201);
    await byTopic.until((frames) => frames.length === 3);
    await ofOne.until((frames) => frames.some(({ event }) => event === 'campaign.created'));
    expect(kinds(byTopic.events())).toEqual(['advertiser.archived', 'campaign.created']);
    expect(ofOne.events().length).toBeGreaterThan(1);
    expect(ofOne.events().every((frame) => bodyOf(frame).data.advertiserId === String(one))).toBe(true);
  });

  it('gets a frame when conversions of its account were counted, if it asks for it', async () => {
    const advertiserId = await createAdvertiser();
    await account.api.post(`/advertisers/${advertiserId}/event-sources/sync`, {
      account: { account_id: String(advertiserId) },
      event_sources: [{ event_source_id: 'live' }],
    });
    const other = await service.openAccount();
    const [asked, silent, ofOther] = [
      await stream('?conversions=true'),
      await stream(),
      await stream('?conversions=true', {}, other),
    ];
    const log = (eventId: string) =>
      account.api.post('/event-sources/live/events', {
        advertiserId,
        events: [{ eventId, eventTime: new Date().toISOString() }],
      });
    // The first counts may have been there before the hub has looked.
    let sent = 0;
    await until(async () => {
      await log(`live-${(sent += 1)}`);
      await sleep(300);
      return kinds(asked.frames()).includes('conversions');
    });
    const frame = asked.frames().find(({ event }) => event === 'conversions');
    expect(frame).toEqual({ event: 'conversions', data: '{}' });
    const received = await account.api.get<{ totalAccepted: number }>(
      `/advertisers/${advertiserId}/events/received`,
    );
    expect(received.body.data.totalAccepted).toBe(sent);
    expect(kinds(silent.frames())).not.toContain('conversions');
    expect(kinds(ofOther.frames())).not.toContain('conversions');
  });

  it('gets nothing of other accounts', async () => {
    const stranger = await service.openAccount();
    const [own, theirs] = [await stream(), await stream('', {}, stranger)];
    await createAdvertiser(stranger);
    await createAdvertiser();
    await Promise.all([own, theirs].map((one) => one.until((frames) => frames.length === 2)));
    await sleep(200);
    expect([own.events().length, theirs.events().length]).toEqual([1, 1]);
  });

  it('goes on after the last id, from the header, else from the query', async () => {
    const first = await stream();
    await createAdvertiser();
    await first.until((frames) => frames.length === 2);
    await first.close();
    const missed = [String(await createAdvertiser()), String(await createAdvertiser())];
    const [afterReady, afterEvent] = first.frames().map(({ id }) => id ?? '');
    const byHeader = await stream(`?lastEventId=${afterReady}`, { 'Last-Event-ID': afterEvent ?? '' });
    const byQuery = await stream(`?lastEventId=${afterReady}`);
    await byHeader.until((frames) => frames.length === 3);
    await byQuery.until((frames) => frames.length === 4);
    expect(byHeader.events().map((frame) => bodyOf(frame).data.resourceId)).toEqual(missed);
    expect(
      byQuery
        .events()
        .slice(1)
        .map(({ id }) => id),
    ).toEqual(byHeader.events().map(({ id }) => id));
  });

  it('reads all that is kept since the earliest, in the order of `GET /events`', async () => {
    const busy = await service.openAccount();
    for (let n = 0; n < 120; n += 1) await createAdvertiser(busy);
    const all = await stream('?since=earliest&topics=advertiser.*', {}, busy);
    await all.until((frames) => frames.length === 121);
    const { body } = await busy.api.get<{ events: { id: string }[] }>('/events?types=advertiser.*&take=200');
    expect(all.events().map((frame) => bodyOf(frame).id)).toEqual(body.data.events.map(({ id }) => id));
  });

  it('without events gets comments, and a new cursor that resumes', async () => {
    const opened = await stream();
    await opened.until((frames) => frames.length === 2);
    expect(opened.text().split(':\n\n').length).toBeGreaterThan(2);
    expect(kinds(opened.frames())).toEqual(['ready', 'cursor']);
    await opened.close();
    await createAdvertiser();
    const resumed = await stream('', { 'Last-Event-ID': opened.lastId() ?? '' });
    await resumed.until((frames) => frames.length === 2);
    expect(kinds(resumed.events())).toEqual(['advertiser.created']);
  });

  it('with an id older than 30 days it begins with `reset`', async () => {
    const cursors = createFeedCursors(service.installation.keys);
    const at = new Date(Date.now() - 31 * 86_400_000).toISOString();
    const id = await cursors.of(account.customerId, { position: '0', idx: 0, at });
    const opened = await stream('', { 'Last-Event-ID': id });
    await createAdvertiser();
    await opened.until((frames) => frames.length === 3);
    expect(kinds(opened.frames())).toEqual(['ready', 'reset', 'advertiser.created']);
    expect(Object.keys(JSON.parse(opened.frames()[1]?.data ?? '{}') as object)).toEqual(['oldest']);
  });

  it('answers HEAD without a stream', async () => {
    const answer = await fetch(`${service.baseUrl}/api/v2/buyer/realtime`, {
      method: 'HEAD',
      headers: bearer(account),
    });
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      '',
    ]);
    expect(await openLeases()).toBe(0);
  });
});

describe('a request is refused before the stream begins', () => {
  const refusalOf = ({ status, text }: OpenStream) => {
    const { error } = JSON.parse(text()) as { error: { code: string; field?: string } };
    return [status, error.code, error.field];
  };

  it.each([
    ['an unknown topic', '?topics=creative.exploded', 'topics'],
    ['an unknown resource', '?topics=advertiser.*,nothing.*', 'topics'],
    ['an internal kind', '?topics=access.changed', 'topics'],
    ['no topic', '?topics=', 'topics'],
    ['a bad advertiser', '?advertiserId=1x', 'advertiserId'],
    ['a bad beginning', '?since=yesterday', 'since'],
    ['a forged cursor', `?lastEventId=${'A'.repeat(100)}`, 'lastEventId'],
    ['a long cursor', `?lastEventId=${'A'.repeat(1_001)}`, 'lastEventId'],
  ])('%s', async (_what, query, field) => {
    expect(refusalOf(await stream(query))).toEqual([400, 'VALIDATION_ERROR', field]);
  });

  it('a cursor of another account, or one that was changed', async () => {
    const stranger = await service.openAccount();
    const theirs = await stream('', {}, stranger);
    const [ready] = await theirs.until((frames) => frames.length === 1);
    const id = ready?.id ?? '';
    const changed = `${id.slice(0, 30)}${id[30] === 'A' ? 'B' : 'A'}${id.slice(31)}`;
    for (const given of [id, changed, 'é'])
      expect(refusalOf(await stream('', { 'Last-Event-ID': given }))).toEqual([
        400,
        'VALIDATION_ERROR',
        'Last-Event-ID',
      ]);
    expect(refusalOf(await stream('', { 'Last-Event-ID': changed }, stranger))[0]).toBe(400);
    expect((await stream('', { 'Last-Event-ID': id }, stranger)).status).toBe(200);
  });

  it('no credential, or an unknown one', async () => {
    expect((await stream('', { Authorization: '' })).status).toBe(401);
    expect((await stream('', { Authorization: 'Bearer sk_live_nothing' })).status).toBe(401);
  });

  it('the 11th stream of a user; a place is free again when one is closed', async () => {
    const twelve = await Promise.all(Array.from({ length: 12 }, () => stream()));
    const refused = twelve.filter(({ status }) => status !== 200);
    expect(refused.length).toBe(2);
    for (const one of refused) {
      expect(one.status).toBe(429);
      expect(JSON.parse(one.text())).toMatchObject({
        error: { code: 'RATE_LIMITED', details: { limit: 10, open: 10 } },
      });
      expect(one.headers.get('retry-after')).toBe('5');
      expect([...one.headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    }
    // Other users are not concerned.
    expect((await stream('', {}, await service.openAccount())).status).toBe(200);
    await twelve.find(({ status }) => status === 200)?.close();
    await until(async () => (await stream()).status === 200);
    expect((await stream()).status).toBe(429);
  });
});

describe('by cookie', () => {
  it.each([
    ['same-origin', 200],
    ['none', 200],
    ['same-site', 403],
    ['cross-site', 403],
    [undefined, 403],
  ])('Sec-Fetch-Site: %s is answered %d', async (site, status) => {
    const { person } = await signUp(service);
    const answer = await openStream(service.baseUrl, {
      Cookie: `__Host-sc_session=${person.cookie}`,
      ...(site === undefined ? {} : { 'Sec-Fetch-Site': site }),
    });
    streams.push(answer);
    expect(answer.status).toBe(status);
  });
});

describe('a stream ends within a second, and is refused from then on, after', () => {
  /** A stream must be open before its credential expires. */
  const LATER_MS = 2_000;

  const open = async (headers: Readonly<Record<string, string>>): Promise<OpenStream> => {
    const opened = await openStream(service.baseUrl, headers);
    streams.push(opened);
    return opened;
  };
  const bySession = (secret: string | undefined) => ({
    Cookie: `__Host-sc_session=${secret}`,
    'Sec-Fetch-Site': 'same-origin',
  });

  /** All of these streams end, `change` included in what may not be late. */
  const end = async (
    credentials: readonly Readonly<Record<string, string>>[],
    change: () => Promise<unknown>,
    refusedWith = 401,
  ): Promise<void> => {
    const opened = await Promise.all(credentials.map(open));
    await Promise.all(opened.map((one) => one.until((frames) => frames.length === 1)));
    await change();
    const startMs = performance.now();
    await Promise.all(opened.map(({ ended }) => ended));
    expect(performance.now() - startMs).toBeLessThan(1_000);
    for (const one of opened)
      expect(one.frames().at(-1)).toEqual({ event: 'bye', data: '{"reason":"credential"}' });
    const again = await Promise.all(credentials.map(open));
    expect(again.map(({ status }) => status)).toEqual(credentials.map(() => refusedWith));
  };

  const newKey = async (of: TestAccount, body: object = {}) => {
    const userId = `${of.customerId}-1`;
    const named = { name: 'Short', userId, scopes: ['exchange:read'], ...body };
    const { status, body: answer } = await of.api.post<{ id: string; key: string }>('/api-keys', named);
    expect(status).toBe(201);
    return { id: answer.data.id, apiKey: answer.data.key };
  };

  it('the revocation of its key; streams with other keys go on', async () => {
    const key = await newKey(account);
    const other = await stream();
    await end([bearer(key)], () => account.api.delete(`/api-keys/${key.id}`));
    await createAdvertiser();
    await other.until((frames) => frames.some(({ event }) => event === 'advertiser.created'));
  });

  it('the expiry of its key', async () => {
    const key = await newKey(account, { expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    await service.pool.query(
      `update api_keys set expires_at = clock_timestamp() + make_interval(secs => $2) where key_id = $1`,
      [key.id, LATER_MS / 1_000],
    );
    await end([bearer(key)], () => sleep(LATER_MS));
  });

  it('the end of its session, and the expiry; other sessions of the user go on', async () => {
    const { person, email, userId } = await signUp(service);
    const elsewhere = new Person(service);
    expect((await signIn(elsewhere, email)).status).toBe(200);
    const other = await open(bySession(elsewhere.cookie));
    await end([bySession(person.cookie)], () => person.post('/auth/sign-out'));
    expect(kinds(other.frames())).toEqual(['ready']);
    await service.pool.query(
      `update sessions set ends_at = clock_timestamp() + make_interval(secs => $2)
       where user_id = $1 and ended_at is null`,
      [userId, LATER_MS / 1_000],
    );
    await end([bySession(elsewhere.cookie)], () => sleep(LATER_MS));
  });

  it('the revocation of its OAuth grant, by the app and by the user', async () => {
    const client = await TestClient.register(service.baseUrl);
    const browser = oauth.browserOf(account);
    const byApp = (await client.tokens(browser, { scope: 'exchange:read' })).access_token;
    await end([bearer({ apiKey: byApp })], () => client.revoke(byApp));
    const byUser = (await client.tokens(browser, { scope: 'exchange:read' })).access_token;
    const own = await oauth.signIn(`${account.customerId}-1`);
    const person = new Person(service, own);
    const apps = '/api/v2/accounts/current/connected-apps';
    const [app] = (await person.get<{ grantId: string }[]>(apps)).body.data;
    await end([bearer({ apiKey: byUser })], async () => {
      expect((await person.delete(`${apps}/${app?.grantId}`)).status).toBe(204);
    });
  });

  it('the removal of its user, with every credential of the user', async () => {
    const host = await signUp(service);
    const userId = await createUser(service.installation, host.customerId, { name: 'Mo', role: 'member' });
    const { key: apiKey } = await createKey(service.installation, host.customerId, { name: 'Mo', userId });
    const client = await TestClient.register(service.baseUrl);
    const browser = oauth.browserOf({ ...account, customerId: host.customerId }, userId);
    const { access_token: token } = await client.tokens(browser, { scope: 'exchange:read' });
    const credentials = [
      bearer({ apiKey }),
      bearer({ apiKey: token }),
      bySession(await oauth.signIn(userId)),
    ];
    const admin = await open(bySession(host.person.cookie));
    await end(credentials, async () => {
      const removed = await host.person.delete(`/api/v2/accounts/current/members/${userId}`);
      expect(removed.status).toBe(204);
    });
    expect(kinds(admin.frames())).toEqual(['ready']);
  });

  it('a role without `exchange:read`; with it, a changed role ends nothing', async () => {
    const { customerId, api } = account;
    const userId = await createUser(service.installation, customerId, { name: 'Mo', role: 'admin' });
    const { key: apiKey } = await createKey(service.installation, customerId, { name: 'Mo', userId });
    const credentials = [bearer({ apiKey }), bySession(await oauth.signIn(userId))];
    const opened = await Promise.all(credentials.map(open));
    await setRole(service.installation, { customerId, userId }, 'member');
    const { id } = await api
      .post<{ id: number }>('/advertisers', { name: 'After' })
      .then(({ body }) => body.data);
    for (const one of opened) {
      await one.until((frames) => frames.some((frame) => frame.event === 'advertiser.created'));
      expect(bodyOf(one.events().at(-1)).data.resourceId).toBe(String(id));
      await one.close();
    }
    await end(credentials, () => becomeSeller(customerId, userId), 403);
  });

  it('the disabling of its account', async () => {
    const disabled = await service.openAccount();
    await end([bearer(disabled)], () => setAccess(service.installation, disabled.customerId, 'disabled'));
  });

  /** No route gives a user of a buyer this role, the only one without the scope. */
  const becomeSeller = async (customerId: number, userId: string): Promise<void> => {
    const id = randomUUID();
    const metadata = {
      customerId,
      actor: 'operator',
      requestId: id,
      correlationId: id,
      causationId: id,
      occurredAt: new Date().toISOString(),
      schemaVersion: 1,
    };
    const event = { id, type: 'UserRoleChanged', data: { userId, role: 'seller' }, metadata };
    await service.store.append(accountStream(customerId), [event], 'any');
  };
});

describe('the package `eventsource`', () => {
  it('gets events, and resumes by itself after the connection broke, without a gap', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: service.port });
    const source = new EventSource(
      `http://127.0.0.1:${proxy.port}/api/v2/buyer/realtime?topics=advertiser.created`,
      {
        fetch: (url, init) => fetch(url, { ...init, headers: { ...init.headers, ...bearer(account) } }),
      },
    );
    const received: string[] = [];
    let readies = 0;
    source.addEventListener('ready', () => (readies += 1));
    source.addEventListener('advertiser.created', ({ data }) =>
      received.push(bodyOf({ event: '', data: String(data) }).data.resourceId),
    );
    await until(async () => readies === 1);
    const made = [String(await createAdvertiser())];
    await until(async () => received.length === 1);
    proxy.down();
    proxy.up();
    made.push(String(await createAdvertiser()));
    await until(async () => received.length === 2);
    expect([readies, received]).toEqual([2, made]);
    source.close();
    await proxy.close();
  });
});
