import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../src/domain/advertisers/advertiser-resource.ts';
import type { Change } from '../../src/domain/history/change-resource.ts';
import type { HistoryEvent } from '../../src/query/history/event-resource.ts';
import { invalid } from '../support/api-client.ts';
import { refusalOf } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { upload } from '../support/uploads.ts';

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const api = (): TestAccount['api'] => account.api;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface HistoryPage {
  readonly events: readonly HistoryEvent[];
  readonly nextAfterRevision?: number;
}
interface Explained {
  readonly revision: number;
  readonly members: readonly { path: string; value: unknown; setBy: HistoryEvent }[];
}
interface Difference {
  readonly from: { readonly revision: number };
  readonly to: { readonly revision: number };
  readonly changes: readonly Change[];
}

const advertiser = async (): Promise<AdvertiserResource> =>
  (await api().post<AdvertiserResource>('/advertisers', { name: 'One', channels: ['ctv'] })).body.data;

describe('an advertiser that has changed three times', () => {
  let path: string;
  /** As every answer showed it; the first is before the first event. */
  const states: AdvertiserResource[] = [];
  const revisions: AdvertiserResource[] = [];
  beforeAll(async () => {
    const first = await advertiser();
    path = `/advertisers/${first.id}`;
    states.push(first);
    for (const body of [{ name: 'Two' }, { name: 'Three', labels: { a: ['b'] } }, { description: 'x' }]) {
      await pause(2);
      const headers = { 'X-Request-Id': `change-${states.length}` };
      states.push((await api().put<AdvertiserResource>(path, body, headers)).body.data);
    }
    revisions.push(...states);
  });

  it('has a history: what changed, by whom, in which request', async () => {
    const { events } = (await api().get<HistoryPage>(`${path}/history`)).body.data;
    expect(events.map(({ revision, type }) => [revision, type])).toEqual([
      [1, 'AdvertiserCreated'],
      ...[2, 3, 4].map((revision) => [revision, 'AdvertiserUpdated']),
    ]);
    expect(events[2]).toMatchObject({
      timestamp: states[2]?.updatedAt,
      actorOrigin: 'API_KEY',
      actor: expect.stringMatching(/^api-key:/) as unknown,
      userId: `${account.customerId}-1`,
      requestId: 'change-2',
      correlationId: 'change-2',
      changes: [
        { path: '/name', before: 'Two', after: 'Three' },
        { path: '/labels', before: {} },
        { path: '/updatedAt', before: states[1]?.updatedAt, after: states[2]?.updatedAt },
        { path: '/labels/a', after: ['b'] },
      ],
    });
  });

  it('is paged by revision', async () => {
    const page = async (query: string) => {
      const { events, nextAfterRevision } = (await api().get<HistoryPage>(`${path}/history?${query}`)).body
        .data;
      return [events.map(({ revision }) => revision), nextAfterRevision];
    };
    expect(await page('take=2')).toEqual([[1, 2], 2]);
    expect(await page('take=2&afterRevision=2')).toEqual([[3, 4], undefined]);
    expect(await page('afterRevision=4')).toEqual([[], undefined]);
    expect(await page('afterRevision=9007199254740991')).toEqual([[], undefined]);
    expect(refusalOf(await api().get(`${path}/history?afterRevision=-1`))).toEqual(invalid('afterRevision'));
  });

  it('can be seen as it was, by revision and by time', async () => {
    for (const [n, state] of revisions.entries()) {
      expect((await api().get(`${path}?asOf=${n + 1}`)).body.data).toEqual(state);
      expect((await api().get(`${path}?asOf=${state.updatedAt}`)).body.data).toEqual(state);
    }
    expect((await api().get(`${path}?asOf=2999-01-01T00:00:00Z`)).body.data).toEqual(revisions.at(-1));
    const missing = [404, 'NOT_FOUND', 'asOf'];
    for (const point of ['0', '5', '2020-01-01T00:00:00Z']) {
      expect(refusalOf(await api().get(`${path}?asOf=${point}`))).toEqual(missing);
    }
    expect((await api().get(`${path}?asOf=5`)).body.error).toMatchObject({ details: { lastRevision: 4 } });
    for (const point of ['yesterday', '-1', '1.5', '2026-13-01T00:00:00Z']) {
      expect(refusalOf(await api().get(`${path}?asOf=${point}`))).toEqual(invalid('asOf'));
    }
    const never = await api().get('/advertisers/2147483647?asOf=1');
    expect([never.status, never.text]).toEqual([404, (await api().get('/advertisers/2147483647')).text]);
  });

  it('differs between two points', async () => {
    const difference = async (query: string) =>
      (await api().get<Difference>(`${path}/diff?${query}`)).body.data;
    expect(await difference('from=2&to=3')).toMatchObject({
      from: { revision: 2, timestamp: states[1]?.updatedAt },
      to: { revision: 3, timestamp: states[2]?.updatedAt },
      changes: expect.arrayContaining([{ path: '/name', before: 'Two', after: 'Three' }]) as unknown,
    });
    const whole = await difference('from=0');
    expect(whole.to.revision).toBe(4);
    expect(whole.changes).toContainEqual({ path: '/name', after: 'Three' });
    const back = await difference(`from=3&to=${states[0]?.updatedAt}`);
    expect(back.changes).toContainEqual({ path: '/labels/a', before: ['b'] });
    expect(refusalOf(await api().get(`${path}/diff`))).toEqual(invalid('from'));
    expect(refusalOf(await api().get(`${path}/diff?from=1&to=9`))).toEqual([404, 'NOT_FOUND', 'to']);
  });

  it('each of its members is explained', async () => {
    const { revision, members } = (await api().get<Explained>(`${path}/explain`)).body.data;
    expect(revision).toBe(4);
    const setBy = Object.fromEntries(members.map((one) => [one.path, one.setBy.revision]));
    expect(setBy).toMatchObject({ '/name': 3, '/labels/a': 3, '/description': 4, '/channels': 1 });
    expect(members.find(({ path: at }) => at === '/name')).toMatchObject({
      value: 'Three',
      setBy: { type: 'AdvertiserUpdated', requestId: 'change-2', userId: `${account.customerId}-1` },
    });
    const then = (await api().get<Explained>(`${path}/explain?asOf=2`)).body.data;
    expect(then.members.find(({ path: at }) => at === '/name')).toMatchObject({
      value: 'Two',
      setBy: { revision: 2 },
    });
  });
});

/** One thing of each kind, by its path; each with at least two events where it can have them. */
const everything = async (): Promise<Readonly<Record<string, string>>> => {
  const made = async (path: string, body: object) =>
    (await api().post<{ id: string }>(path, body)).body.data.id;
  const { id } = await advertiser();
  const campaign = await made('/campaigns', { advertiserId: id, name: 'Spring' });
  await api().put(`/campaigns/${campaign}`, { name: 'Summer' });
  const { assetId } = await upload(
    api(),
    String(id),
    { name: 'Text', mimeType: 'text/plain' },
    Buffer.from('b'),
  );
  const slots = [{ slotId: 'text', kind: 'asset', assetId }];
  const creative = await made(`/campaigns/${campaign}/creatives/create`, { formatKind: 'image', slots });
  await api().put(`/campaigns/${campaign}/creatives/${creative}`, { name: 'Renamed' });
  const session = await made(`/campaigns/${campaign}/creative-sessions`, { title: 'Session' });
  const sync = (name: string) =>
    api().post(`/advertisers/${id}/event-sources/sync`, {
      account: { account_id: String(id) },
      event_sources: [{ event_source_id: 'web/site', name }],
    });
  await sync('Web');
  await sync('Website');
  const audiences = { audiences: [{ audienceId: 'buyers', add: [{ hashedEmail: 'e'.repeat(64) }] }] };
  const accepted = await api().post<{ taskId: string }>(`/advertisers/${id}/audiences/sync`, audiences);
  await api().post(`/advertisers/${id}/catalogs/sync`, {
    catalogs: [{ catalog_id: 'shoes', type: 'product', items: [{ id: '1' }] }],
  });
  const agent = await made('/adcp-agents', {
    name: 'Agent',
    url: 'https://agent.example.com/mcp',
    protocol: 'MCP',
    accountId: 'acct',
    auth: { type: 'bearer', token: 'agent-token-that-is-secret' },
  });
  const [record] = (
    await api().post<{ id: string }[]>(`/advertisers/${id}/syndicate`, {
      resourceId: 'buyers',
      adcpAgentIds: [agent],
      enabled: false,
    })
  ).body.data;
  const connection = await made('/creative-engines/1/connections', { apiKey: 'sbx_very-secret-key' });
  const key = await made('/api-keys', { name: 'Second' });
  await api().delete(`/api-keys/${key}`);
  return {
    advertiser: `/advertisers/${id}`,
    campaign: `/campaigns/${campaign}`,
    creative: `/creatives/${creative}`,
    'campaign creative': `/campaigns/${campaign}/creatives/${creative}`,
    'creative detail': `/creatives/${creative}/detail`,
    session: `/campaigns/${campaign}/creative-sessions/${session}`,
    asset: `/advertisers/${id}/assets/${assetId}`,
    'event source': `/event-sources/web%2Fsite`,
    audience: `/advertisers/${id}/audiences/buyers`,
    catalog: `/advertisers/${id}/catalogs/shoes`,
    agent: `/adcp-agents/${agent}`,
    record: `/advertisers/${id}/syndication-status/${record?.id}`,
    connection: `/creative-engines/1/connections/${connection}`,
    task: `/tasks/${accepted.body.data.taskId}`,
    key: `/api-keys/${key}`,
  };
};

describe('every kind of things', () => {
  let paths: Readonly<Record<string, string>>;
  beforeAll(async () => {
    paths = await everything();
  });
  const pathOf = (kind: string): string => paths[kind] ?? '';

  it.each([
    'advertiser',
    'campaign',
    'creative',
    'session',
    'asset',
    'event source',
    'audience',
    'catalog',
    'agent',
    'record',
    'connection',
    'task',
    'key',
  ])('%s: changes of its history add up to its explanation, and nothing in them is secret', async (kind) => {
    const history = await api().get<HistoryPage>(`${pathOf(kind)}/history`);
    const { events } = history.body.data;
    expect(events.length).toBeGreaterThan(0);
    const members = new Map<string, unknown>();
    for (const { path, ...change } of events.flatMap(({ changes }) => changes)) {
      if ('after' in change) members.set(path, change.after);
      else members.delete(path);
    }
    const explained = await api().get<Explained>(`${pathOf(kind)}/explain`);
    expect(new Map(explained.body.data.members.map(({ path, value }) => [path, value]))).toEqual(members);
    const whole = await api().get<Difference>(`${pathOf(kind)}/diff?from=0`);
    expect(new Map(whole.body.data.changes.map(({ path, after }) => [path, after]))).toEqual(members);
    expect(history.text + explained.text + whole.text).not.toMatch(/e{64}|secret|sbx_very/i);
  });

  it.each(['advertiser', 'campaign', 'campaign creative', 'creative detail', 'session', 'asset', 'agent'])(
    '%s: as of now is as it is',
    async (kind) => {
      const now = await api().get(pathOf(kind));
      expect(now.status).toBe(200);
      const asOf = await api().get(`${pathOf(kind)}?asOf=${new Date().toISOString()}`);
      expect(asOf.body.data).toEqual(now.body.data);
    },
  );

  it('a creative is shown with its campaign as that was then', async () => {
    const { events } = (await api().get<HistoryPage>(`${pathOf('creative')}/history`)).body.data;
    await api().put(pathOf('campaign'), { name: 'Autumn' });
    const detail = async (asOf: string) =>
      (
        await api().get<{ name: string; campaigns: { name: string }[] }>(
          `${pathOf('creative detail')}?${asOf}`,
        )
      ).body.data;
    expect(await detail('')).toMatchObject({ name: 'Renamed', campaigns: [{ name: 'Autumn' }] });
    expect(await detail('asOf=1')).toMatchObject({ campaigns: [{ name: 'Summer' }] });
    expect(await detail(`asOf=${events[1]?.timestamp}`)).toMatchObject({
      name: 'Renamed',
      campaigns: [{ name: 'Summer' }],
    });
  });

  it('what is gone can be seen as it was', async () => {
    expect((await api().delete(pathOf('agent'))).status).toBe(204);
    expect((await api().get(pathOf('agent'))).status).toBe(404);
    expect((await api().get(`${pathOf('agent')}?asOf=1`)).status).toBe(200);
    expect(refusalOf(await api().get(`${pathOf('agent')}?asOf=2`))).toEqual([404, 'NOT_FOUND', 'asOf']);
    const advertiserId = Number(pathOf('advertiser').split('/').at(-1));
    await api().post(`/advertisers/${advertiserId}/event-sources/sync`, {
      account: { account_id: String(advertiserId) },
      event_sources: [{ event_source_id: 'other' }],
      delete_missing: true,
    });
    expect((await api().get(pathOf('event source'))).status).toBe(404);
    const source = await api().get<{ name: string }>(
      `${pathOf('event source')}?asOf=2&advertiserId=${advertiserId}`,
    );
    expect(source.body.data.name).toBe('Website');
    expect((await api().get(`${pathOf('event source')}/history`)).body.data).toMatchObject({
      events: [{}, {}, { type: 'EventSourceArchived' }],
    });
  });

  it('a thing of another owner is none of the path', async () => {
    const other = await advertiser();
    const elsewhere = pathOf('asset').replace(/\/advertisers\/\d+/, `/advertisers/${other.id}`);
    for (const what of ['/history', '/diff?from=0', '/explain', '?asOf=1']) {
      expect((await api().get(elsewhere + what)).status).toBe(404);
    }
  });
});
