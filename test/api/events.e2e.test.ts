import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLog } from '../../app/log.ts';
import fc from 'fast-check';
import type { NotificationBody } from '../../domain/notifications/body.ts';
import { KEPT_DAYS } from '../../domain/notifications/kept-days.ts';
import { publicKinds } from '../../domain/notifications/kinds.ts';
import { expiredRows } from '../../projections/expired-rows.ts';
import { createFeedCursors, LAST_IDX } from '../../query/notifications/cursor.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { refusalOf } from '../support/api-client.ts';
import { checkOpenApi } from '../support/check-openapi.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService({}, createLog('error'));
  account = await service.openAccount();
});
afterAll(() => service.stop());

interface EventPage {
  readonly events: readonly NotificationBody[];
  readonly nextCursor: string;
  readonly hasMore: boolean;
}

const page = async (query = '', of = account): Promise<EventPage> => {
  const answer = await of.api.get<EventPage>(`/events${query}`);
  expect([answer.status, answer.body.error]).toEqual([200, null]);
  return answer.body.data;
};
const typesOf = ({ events }: EventPage): readonly string[] => events.map(({ type }) => type);

type Members = Readonly<Record<string, unknown>>;
const follow = async (url: string, of = account): Promise<Members> => {
  const answer = await fetch(url, { headers: { Authorization: `Bearer ${of.apiKey}` } });
  const { data } = (await answer.json()) as { data: Members };
  expect([url, answer.status]).toEqual([url, 200]);
  return data;
};

const made = async (path: string, body: object, of = account): Promise<string> => {
  const answer = await of.api.post<{ id: string | number }>(path, body);
  expect(answer.body.error).toBeNull();
  return String(answer.body.data.id);
};

/** Each step waits for the one before: their order in the feed is known. */
const live = async (of = account): Promise<{ readonly advertiser: string; readonly campaign: string }> => {
  const advertiser = await made('/advertisers', { name: 'Acme', sandbox: true }, of);
  await of.api.put(`/advertisers/${advertiser}`, { name: 'Other', description: 'x' });
  const campaign = await made('/campaigns', { advertiserId: Number(advertiser), name: 'Spring' }, of);
  await of.api.put(`/campaigns/${campaign}`, { brief: 'Louder' });
  const creative = await made(
    `/campaigns/${campaign}/creatives`,
    {
      formatKind: 'custom',
      name: 'One',
      copy: { headline: 'A' },
    },
    of,
  );
  await of.api.put(`/campaigns/${campaign}/creatives/${creative}`, {
    name: 'Two',
    clickUrl: 'https://shop.example',
  });
  await of.api.delete(`/campaigns/${campaign}/creatives/${creative}`);
  await of.api.post(`/advertisers/${advertiser}/audiences/sync`, { audiences: [{ audienceId: 'crm' }] });
  await of.api.delete(`/campaigns/${campaign}`);
  await of.api.delete(`/advertisers/${advertiser}`);
  await of.api.post(`/advertisers/${advertiser}/restore`);
  return { advertiser, campaign };
};

const LIVED = [
  'advertiser.created',
  'advertiser.updated',
  'campaign.created',
  'advertiser.updated',
  'campaign.updated',
  'creative.created',
  'creative.updated',
  'creative.archived',
  'task.completed',
  'campaign.phase_changed',
  'advertiser.archived',
  'advertiser.restored',
];

describe('the events of an account', () => {
  let ids: { readonly advertiser: string; readonly campaign: string };
  let whole: EventPage;
  beforeAll(async () => {
    ids = await live();
    whole = await page('?take=200');
  });

  it('are its writes, oldest first, as soon as they are answered', () => {
    expect([...typesOf(whole)].sort()).toEqual([...LIVED].sort());
    expect(
      typesOf(whole).filter((type) => !['campaign.created', 'advertiser.updated'].includes(type)),
    ).toEqual(LIVED.filter((type) => !['campaign.created', 'advertiser.updated'].includes(type)));
    expect(whole.hasMore).toBe(false);
    expect(new Set(whole.events.map(({ id }) => id)).size).toBe(LIVED.length);
    for (const { id, data } of whole.events) {
      expect(id).toMatch(/^msg_[0-9a-f-]{36}$/);
      expect(data.advertiserId).toBe(ids.advertiser);
    }
  });

  it('link to the state at that event, which differs from the one before by what changed', async () => {
    const derived = new Set(['revision', 'updatedAt', 'formatLabel', 'specLine']);
    for (const { type, data } of whole.events) {
      const { url = '', revision, changed } = data;
      expect(url).toContain(`?asOf=${revision}`);
      const after = await follow(url);
      if (type.startsWith('task.')) {
        expect(after).toMatchObject({ task: { taskId: data.resourceId, status: 'completed' } });
        continue;
      }
      expect(String(after['id'] ?? after['creativeId'])).toBe(data.resourceId);
      if (changed.length === 0) {
        expect(revision).toBe(1);
        continue;
      }
      const before = await follow(url.replace(/\d+$/, String(revision - 1)));
      const differing = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
        (name) => !derived.has(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
      );
      expect([type, differing.sort()]).toEqual([type, [...changed].sort()]);
    }
    const last = whole.events.findLast(({ type }) => type === 'advertiser.archived');
    expect(await follow(last?.data.url ?? '')).toMatchObject({ status: 'ARCHIVED' });
  });

  it('are in one order, at any cuts into pages', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 }),
        async (takes) => {
          const found: NotificationBody[] = [];
          for (let at = 0, after = ''; ; at += 1) {
            const next = await page(`?take=${takes[at % takes.length]}${after}`);
            found.push(...next.events);
            after = `&after=${next.nextCursor}`;
            if (!next.hasMore) break;
            expect(next.events).toHaveLength(takes[at % takes.length] as number);
          }
          expect(found).toEqual(whole.events);
        },
      ),
      { numRuns: 12 },
    );
  });

  it('go on after the last cursor with what comes then, with any filters', async () => {
    const quiet = await page(`?after=${whole.nextCursor}&types=task.failed`);
    expect([quiet.events, quiet.hasMore]).toEqual([[], false]);
    await account.api.put(`/advertisers/${ids.advertiser}`, { name: 'Third' });
    for (const cursor of [whole.nextCursor, quiet.nextCursor]) {
      const { events } = await page(`?after=${cursor}`);
      expect(events.map(({ type, data }) => [type, data.changed])).toEqual([
        ['advertiser.updated', ['name']],
      ]);
    }
  });

  it('are the newest on request, in the same order, and go on from there', async () => {
    const all = await page('?take=200');
    const newest = await page('?newest=true&take=3');
    expect([newest.events, newest.hasMore]).toEqual([all.events.slice(-3), false]);
    const updated = all.events.filter(({ type }) => type === 'advertiser.updated');
    expect((await page('?newest=true&take=1&types=advertiser.updated')).events).toEqual(updated.slice(-1));
    await account.api.put(`/advertisers/${ids.advertiser}`, { name: 'Fourth' });
    expect(typesOf(await page(`?after=${newest.nextCursor}`))).toEqual(['advertiser.updated']);
    expect(refusalOf(await account.api.get(`/events?newest=true&after=${newest.nextCursor}`))).toEqual([
      400,
      'VALIDATION_ERROR',
      'newest',
    ]);
  });

  it('are found by kinds and by advertiser', async () => {
    const other = await made('/advertisers', { name: 'Second' });
    const types = (query: string) => page(query).then(typesOf);
    expect(await types('?types=creative.*,task.completed')).toEqual([
      'creative.created',
      'creative.updated',
      'creative.archived',
      'task.completed',
    ]);
    expect(await types(`?types=advertiser.created&advertiserId=${ids.advertiser}`)).toEqual([
      'advertiser.created',
    ]);
    expect(await types(`?types=*&advertiserId=${other}`)).toEqual(['advertiser.created']);
    expect(await types('?types=campaign.updated&take=1')).toEqual(['campaign.updated']);
    expect(await types('?advertiserId=2147483647')).toEqual([]);
  });

  it.each([
    'types=',
    'types=creative',
    'types=access.changed',
    'types=*,',
    'take=0',
    'take=201',
    'advertiserId=x',
    'after=',
  ])('refuse %s', async (query) => {
    const answer = await account.api.get(`/events?${query}`);
    expect(refusalOf(answer)).toEqual([400, 'VALIDATION_ERROR', query.split('=')[0]]);
  });

  it("refuse a forged cursor and another account's", async () => {
    const other = await service.openAccount('Other');
    await made('/advertisers', { name: 'Theirs' }, other);
    const theirs = await page('', other);
    expect(typesOf(theirs)).toEqual(['advertiser.created']);
    const refused = [400, 'VALIDATION_ERROR', 'after'];
    for (const cursor of [
      theirs.nextCursor,
      `${whole.nextCursor}A`,
      whole.nextCursor.slice(1),
      'x',
      'MHwwfA',
    ]) {
      expect(refusalOf(await account.api.get(`/events?after=${cursor}`))).toEqual(refused);
    }
    expect(Buffer.from(whole.nextCursor, 'base64url').toString('latin1')).not.toMatch(/\d{10}/);
  });

  it('contain nothing about credentials', async () => {
    const key = await account.api.post<{ id: string }>('/api-keys', { name: 'Short-lived' });
    expect((await account.api.delete(`/api-keys/${key.body.data.id}`)).status).toBe(204);
    await page();
    const { rows } = await service.pool.query<{ resource_type: string; resource_id: string }>(
      `select resource_type, resource_id from notifications where customer_id = $1 and kind = 'access.changed'`,
      [account.customerId],
    );
    expect(rows).toEqual([{ resource_type: 'API_KEY', resource_id: key.body.data.id }]);
    expect(
      (await page('?take=200')).events.filter(
        ({ type }) => !(publicKinds as readonly string[]).includes(type),
      ),
    ).toEqual([]);
  });
});

describe('events of more than thirty days ago', () => {
  const DAY_MS = 24 * 60 * 60 * 1_000;
  const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();

  it('are deleted, and a cursor before them is refused instead of skipping them', async () => {
    const own = await service.openAccount('Old');
    for (const name of ['One', 'Two', 'Three']) await made('/advertisers', { name }, own);
    const first = await page('?take=1', own);
    await service.pool.query(
      `update notifications set occurred_at = now() - make_interval(days => $2) where customer_id = $1
         and position < (select max(position) from notifications where customer_id = $1)`,
      [own.customerId, KEPT_DAYS + 2],
    );
    expect(await expiredRows(service.pool).notifications.purge(1_000)).toBe(2);
    expect((await page('', own)).events).toHaveLength(1);
    expect((await page(`?after=${first.nextCursor}`, own)).events).toHaveLength(1);

    const cursors = createFeedCursors(async () => parseKeyRing(`test:${'A'.repeat(43)}`));
    const at = (days: number) =>
      cursors.of(own.customerId, { position: '-', idx: LAST_IDX, at: daysAgo(days) });
    expect((await page(`?after=${await at(KEPT_DAYS - 1)}`, own)).events).toHaveLength(1);
    const refused = await own.api.get(`/events?after=${await at(KEPT_DAYS + 1)}`);
    expect(refusalOf(refused)).toEqual([400, 'VALIDATION_ERROR', 'after']);
    expect(refused.body.error?.details).toEqual({ reason: 'CURSOR_EXPIRED', keptDays: KEPT_DAYS });
  });
});

describe('the catalogue of kinds', () => {
  it('has a description, a schema and an example of each, and OpenAPI the same', async () => {
    const { eventTypes } = (
      await account.api.get<{ eventTypes: { type: string; schema: Members; example: NotificationBody }[] }>(
        '/webhook-event-types',
      )
    ).body.data;
    expect(eventTypes.map(({ type }) => type)).toEqual(publicKinds);
    const document = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as {
      webhooks: Record<string, { post: { requestBody: { content: { 'application/json': Members } } } }>;
    };
    expect(checkOpenApi(document)).toEqual([]);
    expect(Object.keys(document.webhooks)).toEqual(publicKinds);
    for (const { type, schema, example } of eventTypes) {
      expect(schema).toMatchObject({ type: 'object', properties: { type: { const: type } } });
      expect(example).toMatchObject({ type, data: { resourceId: expect.any(String) } });
      const { schema: documented, example: shown } =
        document.webhooks[type]?.post.requestBody.content['application/json'] ?? {};
      expect(shown).toEqual(example);
      expect(documented).toMatchObject({ properties: { type: { const: type } } });
    }
  });
});
