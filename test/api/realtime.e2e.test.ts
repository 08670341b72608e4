import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { EventSource } from 'eventsource';
import { setAccess } from '../../cli/operate-accounts.ts';
import { createFeedCursors } from '../../query/notifications/cursor.ts';
import type { HubTimes } from '../../query/realtime/hub.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { createLog } from '../../app/log.ts';
import { startTcpProxy } from '../faults/kit/tcp-proxy.ts';
import { signUp } from '../support/person.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { openStream, type Frame, type OpenStream } from '../support/sse.ts';
import { until } from '../support/toy-projection.ts';

const SHORT: Partial<HubTimes> = { heartbeat: 500, cursor: 3_500 };

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, createLog('silent'), { realtime: SHORT });
  account = await service.openAccount();
});
afterAll(() => service.stop());

const open: OpenStream[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((stream) => stream.close()));
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
  open.push(opened);
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
    const streams = await Promise.all(Array.from({ length: 12 }, () => stream()));
    const refused = streams.filter(({ status }) => status !== 200);
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
    await streams.find(({ status }) => status === 200)?.close();
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
    open.push(answer);
    expect(answer.status).toBe(status);
  });
});

describe('a stream ends within a second', () => {
  const endedWithin = async (opened: OpenStream, change: () => Promise<unknown>): Promise<void> => {
    await opened.until((frames) => frames.length === 1);
    await change();
    const startMs = performance.now();
    await opened.ended;
    expect(performance.now() - startMs).toBeLessThan(1_000);
    expect(opened.frames().at(-1)).toEqual({ event: 'bye', data: '{"reason":"credential"}' });
  };

  it('of the revocation of its key; streams with other keys go on', async () => {
    const { body } = await account.api.post<{ id: string; key: string }>('/api-keys', {
      name: 'Short',
      userId: `${account.customerId}-1`,
      scopes: ['exchange:read'],
    });
    const { id, key: apiKey } = body.data;
    const [other, revoked] = [await stream(), await stream('', {}, { apiKey })];
    await endedWithin(revoked, () => account.api.delete(`/api-keys/${id}`));
    await createAdvertiser();
    await other.until((frames) => frames.some(({ event }) => event === 'advertiser.created'));
  });

  it('of the end of its session', async () => {
    const { person } = await signUp(service);
    const opened = await openStream(service.baseUrl, {
      Cookie: `__Host-sc_session=${person.cookie}`,
      'Sec-Fetch-Site': 'same-origin',
    });
    open.push(opened);
    await endedWithin(opened, () => person.post('/auth/sign-out'));
  });

  it('of the disabling of its account', async () => {
    const disabled = await service.openAccount();
    const opened = await stream('', {}, disabled);
    await endedWithin(opened, () => setAccess(service.installation, disabled.customerId, 'disabled'));
  });

  it('of the expiry of its key', async () => {
    const { customerId, apiKey } = await service.openAccount();
    await service.pool.query(
      `update api_keys set expires_at = clock_timestamp() + interval '1500 ms' where customer_id = $1`,
      [customerId],
    );
    const opened = await stream('', {}, { apiKey });
    await opened.ended;
    expect(opened.frames().at(-1)).toEqual({ event: 'bye', data: '{"reason":"credential"}' });
  });
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
