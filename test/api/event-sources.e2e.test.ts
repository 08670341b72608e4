import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { notSeen, type EventSourceResource } from '../../domain/event-sources/resource.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { conflict, invalid, notFound, refusalOf, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

let service: RunningService;
let account: TestAccount;
let advertiserId: number;
beforeAll(async () => {
  service = await startRunningService();
});
beforeEach(async () => {
  account = await service.openAccount();
  advertiserId = await newAdvertiser();
});
afterAll(() => service.stop());

const newAdvertiser = async (): Promise<number> =>
  (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data.id;

interface SyncResult {
  readonly event_sources: readonly {
    event_source_id: string;
    action: string;
    error?: string;
    setup?: object;
  }[];
}
interface EventSourceRow {
  readonly eventSources: readonly EventSourceResource[];
  readonly total: number;
}
const sync = (
  event_sources: unknown,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
  id = advertiserId,
): Promise<ApiAnswer<SyncResult>> =>
  account.api.post(
    `/advertisers/${id}/event-sources/sync`,
    { account: { account_id: String(id) }, event_sources, ...more },
    headers,
  );
/** Repeats a request with its key while its outcome is unknown (503) or it is still running (409), as clients do. */
const syncToTheEnd = async (event_sources: unknown, more: object = {}): Promise<ApiAnswer<SyncResult>> => {
  const key = { 'Idempotency-Key': randomUUID() };
  for (let tries = 1; ; tries += 1) {
    const answer = await sync(event_sources, more, key);
    if (answer.status === 200 || tries === 20) return answer;
    expect([503, 409]).toContain(answer.status);
    await sleep(1_000);
  }
};
const list = async (query = '', id = advertiserId): Promise<EventSourceRow> =>
  (await account.api.get<EventSourceRow>(`/advertisers/${id}/event-sources${query}`)).body.data;
const actions = ({ body }: ApiAnswer<SyncResult>) =>
  body.data.event_sources.map(({ event_source_id, action }) => `${event_source_id} ${action}`);
const named = (...ids: readonly string[]) => ids.map((event_source_id) => ({ event_source_id }));
const eventTypes = async (): Promise<readonly string[]> =>
  (await service.eventsOfAccount(account))
    .map(({ type }) => type)
    .filter((type) => type.startsWith('EventSource'));

const full = {
  event_source_id: 'web',
  name: 'Website',
  event_types: ['purchase', 'lead', 'purchase'],
  allowed_domains: ['Shop.Example.com', '*.example.org'],
  integration_platform: 'shopify',
  mapping: { order: { value: 'total', currency: 'cur' }, flags: [1, true, null] },
  test_event_code: 'TEST-1',
};
const shown = {
  eventSourceId: 'web',
  name: 'Website',
  eventTypes: ['purchase', 'lead'],
  allowedDomains: ['shop.example.com', '*.example.org'],
  integrationPlatform: 'shopify',
  mapping: full.mapping,
  testEventCode: 'TEST-1',
  health: notSeen,
  createdAt: expect.any(String),
  updatedAt: expect.any(String),
};

describe('sync', () => {
  it('creates, leaves unchanged and updates sources', async () => {
    const first = await sync([full, ...named('app')]);
    expect([first.status, first.body.data]).toEqual([
      200,
      {
        event_sources: [
          {
            event_source_id: 'web',
            action: 'created',
            setup: {
              snippet_type: 'server_only',
              instructions: 'Send events to POST /api/v2/buyer/event-sources/web/events.',
            },
          },
          { event_source_id: 'app', action: 'created', setup: expect.any(Object) },
        ],
      },
    ]);
    expect(actions(await sync([full, { event_source_id: 'app', name: 'App' }]))).toEqual([
      'web unchanged',
      'app updated',
    ]);
    const { eventSources, total } = await list();
    expect(total).toBe(2);
    expect(eventSources.find(({ eventSourceId }) => eventSourceId === 'web')).toEqual(shown);
    expect(eventSources.find(({ eventSourceId }) => eventSourceId === 'app')).toMatchObject({
      name: 'App',
      eventTypes: [],
      allowedDomains: [],
    });
    expect((await eventTypes()).length).toBe(3);
  });

  it('replaces a source as a whole: members that are left out or null get their default', async () => {
    await sync([full]);
    expect(actions(await sync([{ event_source_id: 'web', event_types: [], mapping: null }]))).toEqual([
      'web updated',
    ]);
    const { eventSources } = await list();
    expect(eventSources).toEqual([
      {
        eventSourceId: 'web',
        name: 'web',
        eventTypes: [],
        allowedDomains: [],
        health: notSeen,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
  });

  it('with delete_missing deletes the sources that are left out; the next sync restores them', async () => {
    await sync(named('a', 'b', 'c'));
    expect(actions(await sync(named('b'), { delete_missing: true }))).toEqual([
      'b unchanged',
      'a deleted',
      'c deleted',
    ]);
    expect((await list()).eventSources.map(({ eventSourceId }) => eventSourceId)).toEqual(['b']);
    expect((await account.api.get('/event-sources/a')).status).toBe(404);
    expect(actions(await sync(named('a'), { delete_missing: false }))).toEqual(['a created']);
    expect((await list()).total).toBe(2);
    expect((await account.api.get('/event-sources/a')).status).toBe(200);
  });

  it('fails an invalid item and applies the others', async () => {
    const answer = await sync([
      { event_source_id: 'x', event_types: ['bought'] },
      ...named('ok'),
      { event_source_id: 'y', allowed_domains: ['not a domain'] },
      { event_source_id: 'z', mapping: { text: 'x'.repeat(20_000) } },
    ]);
    expect(actions(answer)).toEqual(['x failed', 'ok created', 'y failed', 'z failed']);
    expect(answer.body.data.event_sources[0]?.error).toMatch(
      /^event_types\.0 must be one of .*"page_view", /,
    );
    expect(answer.body.data.event_sources[2]?.error).toMatch(/^allowed_domains\.0 must be a domain/);
    expect((await list()).total).toBe(1);
  });

  it('does not delete a source whose item failed', async () => {
    await sync(named('a'));
    const answer = await sync([{ event_source_id: 'a', name: '' }], { delete_missing: true });
    expect(actions(answer)).toEqual(['a failed']);
    expect((await list()).total).toBe(1);
  });

  it.each([
    ['no sources', {}, 'event_sources'],
    ['none', { event_sources: [] }, 'event_sources'],
    ['51', { event_sources: named(...Array.from({ length: 51 }, (_, n) => `s${n}`)) }, 'event_sources'],
    ['one twice', { event_sources: named('a', 'b', 'a') }, 'event_sources'],
    ['an item without id', { event_sources: [{ name: 'x' }] }, 'event_sources.0.event_source_id'],
    ['no account', { event_sources: named('a'), account: undefined }, 'account'],
    ['another account', { event_sources: named('a'), account: { account_id: '1' } }, 'account.account_id'],
  ])('refuses %s with 400 and appends no event', async (_what, body, field) => {
    const answer = await account.api.post(`/advertisers/${advertiserId}/event-sources/sync`, {
      account: { account_id: advertiserId },
      ...body,
    });
    expect(refusalOf(answer)).toEqual(invalid(field));
    expect(await eventTypes()).toEqual([]);
  });

  it('is 409 for an archived advertiser and 404 for an unknown one; reads of an archived one continue', async () => {
    await sync(named('a'));
    await account.api.delete(`/advertisers/${advertiserId}`);
    expect(refusalOf(await sync(named('b')))).toEqual(conflict());
    expect((await list()).total).toBe(1);
    expect(refusalOf(await sync(named('b'), {}, {}, 2_147_483_647))).toEqual(notFound());
    const absent = await account.api.get('/advertisers/2147483647/event-sources');
    expect(refusalOf(absent)).toEqual(notFound());
  });

  it('accepts 500 sources for an advertiser', async () => {
    for (let from = 0; from < 480; from += 40) {
      await syncToTheEnd(named(...Array.from({ length: 40 }, (_, n) => `s${from + n}`)));
    }
    const answer = await syncToTheEnd(named(...Array.from({ length: 30 }, (_, n) => `t${n}`)));
    const failed = answer.body.data.event_sources.filter(({ action }) => action === 'failed');
    expect(failed.map(({ event_source_id }) => event_source_id)).toEqual(
      Array.from({ length: 10 }, (_, n) => `t${20 + n}`),
    );
    expect((await list('?take=1')).total).toBe(500);
    const replaced = await syncToTheEnd(named('t25'), { delete_missing: true });
    expect(replaced.body.data.event_sources).toHaveLength(501);
    expect((await list()).eventSources.map(({ eventSourceId }) => eventSourceId)).toEqual(['t25']);
  }, 120_000);
});

describe('a repeated request', () => {
  it('with its key is answered byte for byte', async () => {
    await sync(named('old'));
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await sync(named('a', 'b'), { delete_missing: true }, key);
    const again = await sync(named('a', 'b'), { delete_missing: true }, key);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect(actions(first)).toEqual(['a created', 'b created', 'old deleted']);
  });
});

describe('list', () => {
  it('is paged, newest first, with each source once', async () => {
    for (const id of ['1', '2', '3', '4', '5']) await sync(named(id));
    const pages = [await list('?take=2'), await list('?take=2&skip=2'), await list('?limit=2&offset=4')];
    expect(pages.map(({ total }) => total)).toEqual([5, 5, 5]);
    expect(
      pages.flatMap(({ eventSources }) => eventSources.map(({ eventSourceId }) => eventSourceId)),
    ).toEqual(['5', '4', '3', '2', '1']);
    expect(refusalOf(await account.api.get(`/advertisers/${advertiserId}/event-sources?take=201`))).toEqual(
      invalid('take'),
    );
  });
});

describe('detail', () => {
  it('is found by its key in the whole account', async () => {
    await sync([full]);
    const answer = await account.api.get<EventSourceResource>('/event-sources/web');
    expect([answer.status, answer.body.data]).toEqual([200, shown]);
  });

  it("needs the advertiser's id when several advertisers have the key", async () => {
    const other = await newAdvertiser();
    await sync(named('web'));
    await sync([{ event_source_id: 'web', name: 'Other' }], {}, {}, other);
    expect(refusalOf(await account.api.get('/event-sources/web'))).toEqual(invalid('advertiserId'));
    const answer = await account.api.get<EventSourceResource>(`/event-sources/web?advertiserId=${other}`);
    expect(answer.body.data.name).toBe('Other');
    expect((await account.api.get('/event-sources/web?advertiserId=2147483647')).status).toBe(404);
  });

  it('is the active one, however many advertisers had a source with the key before', async () => {
    await sync(named('web'));
    for (let n = 0; n < 3; n++) {
      const other = await newAdvertiser();
      await sync(named('web'), {}, {}, other);
      await sync(named('else'), { delete_missing: true }, {}, other);
    }
    const answer = await account.api.get<EventSourceResource>('/event-sources/web');
    expect([answer.status, answer.body.data.eventSourceId]).toEqual([200, 'web']);
    const events = [{ eventId: '1', eventType: 'purchase', eventTime: new Date().toISOString() }];
    const logged = await account.api.post<object>('/event-sources/web/events', { events });
    expect(logged.body.data).toMatchObject({ accepted: 1, duplicates: 0, rejected: [] });
  });

  it('accepts any text as a key', async () => {
    const key = 'shop/é 😀?&#%';
    await sync(named(key));
    const answer = await account.api.get<EventSourceResource>(`/event-sources/${encodeURIComponent(key)}`);
    expect(answer.body.data.eventSourceId).toBe(key);
  });
});
