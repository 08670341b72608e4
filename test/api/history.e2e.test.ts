import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { CauseNode } from '../../domain/history/cause-resource.ts';
import type { Change } from '../../domain/history/change-resource.ts';
import type { HistoryEvent } from '../../query/history/event-resource.ts';
import { invalid, notFound, refusalOf } from '../support/api-client.ts';
import { until } from '../support/until.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import type { AuditLog } from '../../domain/history/audit-log-resource.ts';
import { png as pngOf } from '../support/sample-media.ts';
import { reserve, send, upload } from '../support/uploads.ts';
import { auditedKinds } from '../../query/history/all-kinds.ts';
import { subjectsOfRoutes } from '../../app/subjects-of-routes.ts';
import { createUser } from '../../cli/operate-accounts.ts';
import { auditSearch, SCANNED_MAX, type AuditFilters } from '../../query/history/audit-search.ts';
import { builtStatement, sql } from '../../shared/postgres/build-statement.ts';
import { createTenantDatabase } from '../../shared/postgres/tenant-database.ts';

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
interface Explanation {
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
  /** The answers to the creation and to each change. */
  const states: AdvertiserResource[] = [];
  beforeAll(async () => {
    const first = await advertiser();
    path = `/advertisers/${first.id}`;
    states.push(first);
    for (const body of [{ name: 'Two' }, { name: 'Three', labels: { a: ['b'] } }, { description: 'x' }]) {
      await pause(2);
      const headers = { 'X-Request-Id': `change-${states.length}` };
      states.push((await api().put<AdvertiserResource>(path, body, headers)).body.data);
    }
  });

  it('has a history: what changed, by which actor, in which request', async () => {
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

  it('is returned as it was, by revision and by time', async () => {
    for (const [n, state] of states.entries()) {
      expect((await api().get(`${path}?asOf=${n + 1}`)).body.data).toEqual(state);
      expect((await api().get(`${path}?asOf=${state.updatedAt}`)).body.data).toEqual(state);
    }
    expect((await api().get(`${path}?asOf=2999-01-01T00:00:00Z`)).body.data).toEqual(states.at(-1));
    const missing = [404, 'NOT_FOUND', 'asOf'];
    for (const point of ['0', '5', '2020-01-01T00:00:00Z']) {
      expect(refusalOf(await api().get(`${path}?asOf=${point}`))).toEqual(missing);
    }
    expect((await api().get(`${path}?asOf=5`)).body.error).toMatchObject({ details: { lastRevision: 4 } });
    for (const point of ['yesterday', '-1', '1.5', '2026-13-01T00:00:00Z']) {
      expect(refusalOf(await api().get(`${path}?asOf=${point}`))).toEqual(invalid('asOf'));
    }
    const unescaped = (await api().get(`${path}?asOf=2999-01-01T00:00:00+01:00`)).body.error?.message;
    expect(unescaped).toContain('write the "+" of its offset as %2B');
    expect((await api().get(`${path}?asOf=2999-01-01T00:00:00%2B01:00`)).body.data).toEqual(states.at(-1));
    const never = await api().get('/advertisers/2147483647?asOf=1');
    expect([never.status, never.text]).toEqual([404, (await api().get('/advertisers/2147483647')).text]);
  });

  it('differs between two points in time', async () => {
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
    expect(refusalOf(await api().get(`${path}/diff?from=1&to=9`))).toEqual(notFound('to'));
  });

  it('explains each of its members', async () => {
    const { revision, members } = (await api().get<Explanation>(`${path}/explain`)).body.data;
    expect(revision).toBe(4);
    const setBy = Object.fromEntries(members.map((one) => [one.path, one.setBy.revision]));
    expect(setBy).toMatchObject({ '/name': 3, '/labels/a': 3, '/description': 4, '/channels': 1 });
    expect(members.find(({ path: at }) => at === '/name')).toMatchObject({
      value: 'Three',
      setBy: { type: 'AdvertiserUpdated', requestId: 'change-2', userId: `${account.customerId}-1` },
    });
    const labels = (await api().get<Explanation>(`${path}/explain?path=/labels`)).body.data;
    expect(labels.members.map(({ path: at }) => at)).toEqual(['/labels/a']);
    // An invalid pointer is an error, not a missing member.
    for (const at of ['name', '/name~', '/a~2']) {
      expect(refusalOf(await api().get(`${path}/explain?path=${at}`))).toEqual(invalid('path'));
    }
    const then = (await api().get<Explanation>(`${path}/explain?asOf=2`)).body.data;
    expect(then.members.find(({ path: at }) => at === '/name')).toMatchObject({
      value: 'Two',
      setBy: { revision: 2 },
    });
  });
});

describe('a list with asOf', () => {
  it('contains former resources in their former state, also if they changed since', async () => {
    const own = await service.openAccount('Lists');
    const list = async (path: string, query: string) =>
      (await own.api.get<{ name: string }[]>(`${path}?${query}`)).body.data.map(({ name }) => name);
    const moments: string[] = [];
    const mark = async () => {
      await pause(2);
      moments.push(new Date().toISOString());
      await pause(2);
    };
    await mark();
    const { id } = (await own.api.post<{ id: number }>('/advertisers', { name: 'First' })).body.data;
    const campaign = await own.api.post<{ id: string }>('/campaigns', { advertiserId: id, name: 'Spring' });
    await mark();
    await own.api.post('/advertisers', { name: 'Second' });
    await own.api.put(`/advertisers/${id}`, { name: 'Renamed' });
    await mark();
    await own.api.delete(`/campaigns/${campaign.body.data.id}`);
    await own.api.delete(`/advertisers/${id}`);
    await mark();
    const asOf = (path: string, query = '') =>
      Promise.all(moments.map((moment) => list(path, `${query}&asOf=${moment}`)));
    expect(await asOf('/advertisers')).toEqual([[], ['First'], ['Second', 'Renamed'], ['Second']]);
    expect(await asOf('/advertisers', 'status=ALL&take=1&skip=1')).toEqual([
      [],
      [],
      ['Renamed'],
      ['Renamed'],
    ]);
    expect(await asOf('/campaigns', `advertiserId=${id}`)).toEqual([[], ['Spring'], ['Spring'], []]);
    expect(refusalOf(await own.api.get('/advertisers?asOf=1'))).toEqual(invalid('asOf'));
    await service.pool.query(
      `insert into audit_entries (customer_id, occurred_at, position, stream, revision, event_id, type,
         resource_type, actor, request_id, correlation_id, causation_id)
       select $1::bigint, '2001-01-01Z', 'p' || n, 'advertiser-' || $1::bigint || '-' || 1000000000 + n, 0,
         gen_random_uuid(), 'AdvertiserCreated', 'ADVERTISER', 'operator', 'r', 'r', 'c'
       from generate_series(1, 501) n`,
      [own.customerId],
    );
    const refused = await own.api.get(`/advertisers?asOf=${moments[1]}`);
    expect([refusalOf(refused), refused.body.error?.details]).toEqual([invalid('asOf'), { limit: 500 }]);
  });
});

it('a read without history refuses asOf, and ignores unknown parameters', async () => {
  const document = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as {
    readonly paths: Readonly<
      Record<
        string,
        { get?: { parameters?: { name: string }[]; security?: { bearer?: string[]; oauth?: string[] }[] } }
      >
    >;
  };
  const reads = Object.entries(document.paths).flatMap(([path, { get }]) =>
    // Routes for sellers are refused before their parameters are examined.
    get === undefined ||
    !path.startsWith('/api/v2/buyer/') ||
    // A stream of what happens from now on.
    path === '/api/v2/buyer/realtime' ||
    get.security?.every(({ bearer, oauth }) => (bearer ?? oauth)?.includes('exchange:review')) === true
      ? []
      : [{ path, names: get.parameters ?? [] }],
  );
  const without = reads.filter(({ names }) => !names.some(({ name }) => name === 'asOf'));
  expect(without.length).toBeGreaterThan(20);
  for (const { path } of without) {
    // Replaces every id by one that all these routes accept.
    const asked = path.slice('/api/v2/buyer'.length).replaceAll(/\{\w+\}/g, '1');
    const answer = await api().get(`${asked}?asOf=2026-01-01T00:00:00Z`);
    expect([path, ...refusalOf(answer)]).toEqual([path, ...invalid('asOf')]);
    expect(refusalOf(await api().get(`${asked}?includeBrand=true`))).not.toEqual(invalid('includeBrand'));
  }
});

/** Paths of one resource of each kind. Each has at least two events where its kind allows it. */
const createAllKinds = async (): Promise<Readonly<Record<string, string>>> => {
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
    user: `/users/${account.customerId}-1`,
    'added user': `/users/${await createUser(service.installation, account.customerId, { name: 'Mo', role: 'member' })}`,
  };
};

describe('every resource type', () => {
  let paths: Readonly<Record<string, string>>;
  beforeAll(async () => {
    paths = await createAllKinds();
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
    'user',
    'added user',
  ])('%s: the changes in its history add up to its explanation and contain no secret', async (kind) => {
    const history = await api().get<HistoryPage>(`${pathOf(kind)}/history`);
    const { events } = history.body.data;
    expect(events.length).toBeGreaterThan(0);
    const members = new Map<string, unknown>();
    for (const { path, ...change } of events.flatMap(({ changes }) => changes)) {
      if ('after' in change) members.set(path, change.after);
      else members.delete(path);
    }
    const explained = await api().get<Explanation>(`${pathOf(kind)}/explain`);
    expect(new Map(explained.body.data.members.map(({ path, value }) => [path, value]))).toEqual(members);
    const whole = await api().get<Difference>(`${pathOf(kind)}/diff?from=0`);
    expect(new Map(whole.body.data.changes.map(({ path, after }) => [path, after]))).toEqual(members);
    expect(history.text + explained.text + whole.text).not.toMatch(/e{64}|secret|sbx_very/i);
  });

  it.each([
    'advertiser',
    'campaign',
    'campaign creative',
    'creative detail',
    'session',
    'asset',
    'agent',
    'record',
  ])('%s: asOf now equals the read without asOf', async (kind) => {
    const now = await api().get(pathOf(kind));
    expect(now.status).toBe(200);
    const asOf = await api().get(`${pathOf(kind)}?asOf=${new Date().toISOString()}`);
    expect(asOf.body.data).toEqual(now.body.data);
  });

  it('a creative is shown with its campaign as it was at that time', async () => {
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

  it('a user has a history, visible to admins of its account', async () => {
    const { events } = (await api().get<HistoryPage>(`${pathOf('added user')}/history`)).body.data;
    expect(events).toMatchObject([
      {
        type: 'UserAdded',
        actorOrigin: 'OPERATOR',
        changes: expect.arrayContaining([{ path: '/name', after: 'Mo' }]) as unknown,
      },
    ]);
    const { members } = (await api().get<Explanation>(`${pathOf('added user')}/explain?path=/role`)).body
      .data;
    expect(members).toMatchObject([{ value: 'member', setBy: { type: 'UserAdded' } }]);
    const other = await service.openAccount('Another');
    const reader = (await api().post<{ key: string }>('/api-keys', { name: 'R', scopes: ['exchange:read'] }))
      .body.data.key;
    for (const what of ['/history', '/diff?from=0', '/explain']) {
      expect((await other.api.get(pathOf('added user') + what)).status).toBe(404);
      const asReader = { Authorization: `Bearer ${reader}` };
      expect((await api().get(pathOf('added user') + what, asReader)).status).toBe(403);
    }
    expect((await api().get('/users/nobody/history')).status).toBe(404);
  });

  it('a deleted resource is returned as it was', async () => {
    expect((await api().delete(pathOf('agent'))).status).toBe(204);
    expect((await api().get(pathOf('agent'))).status).toBe(404);
    expect((await api().get(`${pathOf('agent')}?asOf=1`)).status).toBe(200);
    expect(refusalOf(await api().get(`${pathOf('agent')}?asOf=2`))).toEqual(notFound('asOf'));
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

  it('a resource of another owner is 404', async () => {
    const other = await advertiser();
    const elsewhere = pathOf('asset').replace(/\/advertisers\/\d+/, `/advertisers/${other.id}`);
    for (const what of ['/history', '/diff?from=0', '/explain', '?asOf=1']) {
      expect((await api().get(elsewhere + what)).status).toBe(404);
    }
  });
});

interface AuditLogs {
  readonly logs: readonly AuditLog[];
  readonly total: number;
}

describe('the audit log', () => {
  let own: TestAccount;
  let advertiserId: number;
  let campaignId: string;
  let key: { id: string; key: string };
  beforeAll(async () => {
    own = await service.openAccount('Audited');
    advertiserId = (await own.api.post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data.id;
    const campaign = await own.api.post<{ id: string }>('/campaigns', { advertiserId, name: 'Spring' });
    campaignId = campaign.body.data.id;
    await own.api.put(`/campaigns/${campaignId}`, { name: 'Summer' }, { 'X-Request-Id': 'rename' });
    await own.api.post(`/campaigns/${campaignId}/creative-sessions`, { title: 'Ideas' });
    key = (await own.api.post<typeof key>('/api-keys', { name: 'Reader', scopes: ['exchange:read'] })).body
      .data;
    await own.api.post(`/advertisers/${advertiserId}/event-sources/sync`, {
      account: { account_id: String(advertiserId) },
      event_sources: [{ event_source_id: 'web' }],
    });
    const events = [1, 2].map((n) => ({ eventId: `e${n}`, eventTime: new Date().toISOString() }));
    await own.api.post('/event-sources/web/events', { events });
    // Refused for its scope, by a rule, by a revision. A read with 404 is not logged.
    await fetch(`${service.baseUrl}/api/v2/buyer/advertisers/${advertiserId}`, {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${key.key}` },
    });
    await own.api.put(`/campaigns/${campaignId}`, { name: '' }, { 'X-Request-Id': 'refused' });
    await own.api.put(`/campaigns/${campaignId}`, { name: 'x', expectedRevision: 9 });
    await own.api.get('/campaigns/none');
    while ((await logs('outcome=failed')).total < 2) await pause(50);
    while ((await logs('resourceTypes=CONVERSIONS')).total < 1) await pause(50);
  });

  const logs = async (query = '') => (await own.api.get<AuditLogs>(`/audit-logs?${query}`)).body.data;
  const actions = async (query: string) => (await logs(query)).logs.map(({ action }) => action);

  it('has an entry for each change and each refusal, newest first', async () => {
    const answer = await own.api.get<AuditLogs>('/audit-logs?take=500');
    const { logs: all, total } = answer.body.data;
    expect([all.length, answer.body.meta.pagination.total]).toEqual([total, total]);
    expect(all.map(({ action }) => action).toReversed()).toEqual([
      'AccountOpened',
      'ApiKeyIssued',
      'AdvertiserCreated',
      'AdvertiserCurrencyLocked',
      'CampaignCreated',
      'CampaignUpdated',
      'CreativeSessionStarted',
      'ApiKeyIssued',
      expect.anything(),
      expect.anything(),
      'deleteAdvertiser',
      'updateCampaign',
      'updateCampaign',
    ]);
    expect(answer.text).not.toContain(key.key);
    expect(all.find(({ action }) => action === 'CampaignUpdated')).toEqual({
      id: expect.any(String) as unknown,
      timestamp: expect.any(String) as unknown,
      createdAt: expect.any(String) as unknown,
      action: 'CampaignUpdated',
      resourceType: 'CAMPAIGN',
      resourceId: campaignId,
      resourceName: 'Summer',
      advertiserId,
      campaignIds: [campaignId],
      actorOrigin: 'API_KEY',
      actor: expect.any(String) as unknown,
      userId: `${own.customerId}-1`,
      outcome: 'success',
      parameters: expect.objectContaining({ requestId: 'rename', revision: 2 }) as unknown,
      changes: expect.arrayContaining([{ path: '/name', before: 'Spring', after: 'Summer' }]) as unknown,
      description: 'Campaign updated: name',
    });
  });

  it('finds them by each of its filters', async () => {
    const campaign = ['CampaignUpdated', 'CampaignCreated'];
    expect(await actions(`resourceId=${campaignId}&outcome=success`)).toEqual(campaign);
    expect(await actions(`campaignId=${campaignId}&outcome=success`)).toEqual([
      'CreativeSessionStarted',
      ...campaign,
    ]);
    expect(await actions(`campaignId=${campaignId}&outcome=failed`)).toHaveLength(2);
    expect(await actions('resourceTypes=CAMPAIGN,API_KEY&outcome=success')).toEqual([
      'ApiKeyIssued',
      ...campaign,
      'ApiKeyIssued',
    ]);
    expect(await actions('actions=CampaignCreated,AdvertiserCreated')).toEqual([
      'CampaignCreated',
      'AdvertiserCreated',
    ]);
    expect(await actions(`advertiserId=${advertiserId}&resourceTypes=CREATIVE_SESSION`)).toHaveLength(1);
    expect(await actions(`advertiserId=${advertiserId}&resourceId=web`)).toEqual(
      expect.arrayContaining(['ConversionsLogged', 'EventSourceCreated']),
    );
    expect(await actions(`resourceId=${key.id}`)).toEqual(['ApiKeyIssued']);
    expect(await actions('actorOrigin=OPERATOR')).toEqual(['ApiKeyIssued', 'AccountOpened']);
    expect(await actions(`actorUserId=${own.customerId}-1&actions=AdvertiserCreated`)).toHaveLength(1);
    expect(await actions('actorUserId=nobody')).toEqual([]);
    expect(await actions('endDate=2020-01-01')).toEqual([]);
    const today = new Date().toISOString().slice(0, 10);
    expect(await actions(`startDate=${today}&take=2`)).toHaveLength(2);
    expect(await actions('startDate=2999-01-01T00:00:00Z')).toEqual([]);
    for (const [query, field] of [
      ['startDate=today', 'startDate'],
      ['startDate=2026-02-01&endDate=2026-01-01', 'endDate'],
      ['resourceTypes=THING', 'resourceTypes.0'],
      ['take=501', 'take'],
    ] as const) {
      expect(refusalOf(await own.api.get(`/audit-logs?${query}`))).toEqual(invalid(field));
    }
    const unread = (await own.api.get('/audit-logs?startDate=today')).body.error?.message;
    expect(unread).toContain('must be a day, e.g. "2026-01-31", or an RFC 3339');
  });

  it('shows the actor, operation and reason of a refusal', async () => {
    const { logs: denied } = await logs('outcome=denied');
    expect(denied).toMatchObject([
      {
        action: 'deleteAdvertiser',
        resourceType: 'ADVERTISER',
        resourceId: String(advertiserId),
        advertiserId,
        actor: `api-key:${key.id}`,
        userId: `${own.customerId}-1`,
        parameters: { status: 403, code: 'FORBIDDEN' },
        description: 'deleteAdvertiser was denied: 403 FORBIDDEN',
      },
    ]);
    const { logs: failed } = await logs('outcome=failed');
    expect(failed.map(({ parameters }) => [parameters['code'], parameters['field']])).toEqual([
      ['CONFLICT', 'expectedRevision'],
      ['VALIDATION_ERROR', 'name'],
    ]);
  });

  it('shows uploads that were refused with a valid token, and no others', async () => {
    const body = { name: 'Hero', mimeType: 'image/png', bytes: 60 };
    const { assetId, uploadId, uploadUrl } = (await reserve(own.api, advertiserId, body)).body.data;
    const png = Buffer.concat([pngOf(3, 3), Buffer.alloc(60)]).subarray(0, 60);
    const other = Buffer.from(png).fill(1, 59);
    for (const [bytes, status] of [
      [Buffer.alloc(60, 'x'), 415],
      [Buffer.alloc(61), 413],
      [png.subarray(1), 400],
      [png, 200],
      [other, 409],
    ] as const) {
      expect((await send(uploadUrl, bytes)).status).toBe(status);
    }
    expect((await send(uploadUrl.replace(/.$/, '-'), png)).status).toBe(401);
    const ofAsset = () => logs(`resourceId=${assetId}&actorOrigin=UPLOAD&outcome=failed`);
    while ((await ofAsset()).total < 4) await pause(50);
    const said = {
      action: 'uploadAsset',
      resourceType: 'ASSET',
      resourceId: assetId,
      advertiserId,
      actor: `upload:${uploadId}`,
    };
    expect((await ofAsset()).logs).toMatchObject(
      [409, 400, 413, 415].map((status) => ({ ...said, parameters: { status } })),
    );
    await own.api.delete(`/advertisers/${advertiserId}/assets/${assetId}`);
    expect((await send(uploadUrl, png)).status).toBe(409);
    while ((await ofAsset()).total < 5) await pause(50);
    expect((await logs(`resourceId=${assetId}&outcome=denied`)).total).toBe(0);
  });

  it('has one entry for each call that logs conversions, under its source, without their content', async () => {
    const { logs: found } = await logs('resourceTypes=CONVERSIONS');
    expect(found).toMatchObject([{ resourceId: 'web', action: 'ConversionsLogged', changes: [] }]);
  });

  it('finds a creative under each of its campaigns, from attaching to detaching', async () => {
    const other = (await own.api.post<{ id: string }>('/campaigns', { advertiserId, name: 'Autumn' })).body
      .data.id;
    const library = `/advertisers/${advertiserId}/creatives`;
    const tag = { name: 'Tag', formatKind: 'display_tag', copy: { tag: '<b></b>' } };
    const creative = (await own.api.post<{ id: string }>(`${library}/create`, tag)).body.data.id;
    const assign = (to: string) =>
      own.api.post(`${library}/${creative}/campaigns`, { campaignId: to }, { 'X-Request-Id': 'assign' });
    expect((await assign(campaignId)).status).toBeLessThan(300);
    expect((await assign(other)).status).toBeLessThan(300);
    expect((await own.api.delete(`${library}/${creative}/campaigns/${other}`)).status).toBeLessThan(300);
    await own.api.put(`/campaigns/${campaignId}/creatives/${creative}`, { name: 'Renamed' });
    const under = (id: string) => actions(`campaignId=${id}&resourceTypes=CREATIVE&outcome=success`);
    expect(await under(campaignId)).toEqual([
      'CreativeUpdated',
      'CreativeDetached',
      'CreativeAttached',
      'CreativeAttached',
    ]);
    expect(await under(other)).toEqual(['CreativeDetached', 'CreativeAttached']);
    // A refusal belongs to the creative, and is found by its campaign, too.
    await own.api.put(`/campaigns/${campaignId}/creatives/${creative}`, { name: '' });
    while ((await logs(`resourceId=${creative}&outcome=failed`)).total < 1) await pause(50);
    expect((await logs(`campaignId=${campaignId}&resourceId=${creative}&outcome=failed`)).logs).toMatchObject(
      [{ action: 'updateCampaignCreative', resourceType: 'CREATIVE', resourceId: creative }],
    );
  });

  it('names the user of an event', async () => {
    const userId = await createUser(service.installation, own.customerId, { name: 'Mo', role: 'member' });
    expect((await logs('resourceTypes=USER')).logs).toMatchObject([
      { action: 'UserAdded', resourceId: userId, resourceName: 'Mo', actorOrigin: 'OPERATOR' },
    ]);
    expect(await actions(`resourceId=${userId}`)).toEqual(['UserAdded']);
  });

  it('uses indexes in the order of the answer for every filter', async () => {
    const planned = await service.openAccount('Planned');
    await fillAuditLog(planned.customerId);
    const requests = createTenantDatabase(service.installation.requestPool);
    const indexOf = async (filters: Partial<AuditFilters>): Promise<string> => {
      const { search, given } = auditSearch(
        planned.customerId,
        { from: '1970-01-01T00:00:00.000Z', before: 'infinity', ...filters },
        { skip: 0, take: 50 },
      );
      const { text, parameters } = builtStatement(sql.raw('explain with ? select * from page', [search]));
      const rows = await requests.query<{ 'QUERY PLAN': string }>(planned.customerId, {
        name: `explain-${randomUUID()}`,
        text,
        values: parameters.map((parameter) => given[parameter]),
      });
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).not.toMatch(/Seq Scan|Bitmap/);
      const ranges = plan.match(/Index Cond: .*ROW\(/g)?.length ?? 0;
      const lookedUp = plan.match(/using audit_\w+ on \w+ i(?:_\d+)?\b/g)?.length ?? 0;
      const whole = plan.match(/using audit_(entries|attempts)_pkey on \w+ i(?:_\d+)?\b/g)?.length ?? 0;
      expect(ranges).toBe(lookedUp - whole);
      // No plan sorts rows before the limit.
      expect(plan).not.toMatch(/Limit[^\n]*\n\s*->\s*(Incremental )?Sort[^\n]*\n[^\n]*\n\s*->\s*Index/);
      return [...plan.matchAll(/using (audit_\w+) on \w+ i(?:_\d+)?\b/g)].map(([, index]) => index).join(' ');
    };
    const ofBoth = (what: string) => `audit_entries_by_${what} audit_attempts_by_${what}`;
    expect(await indexOf({})).toBe('audit_entries_pkey audit_attempts_pkey');
    expect(await indexOf({ actorOrigin: 'WORKER' })).toBe('audit_entries_pkey audit_attempts_pkey');
    expect(await indexOf({ advertiserId: 1 })).toBe(ofBoth('advertiser'));
    expect(await indexOf({ resourceTypes: ['TASK', 'ASSET'] })).toBe(ofBoth('resource_type'));
    expect(await indexOf({ userId: '1-1' })).toBe(ofBoth('user'));
    expect(await indexOf({ actions: ['TaskCreated'], actorOrigin: 'WORKER' })).toBe(
      'audit_entries_by_type audit_attempts_by_operation',
    );
    expect(await indexOf({ campaign: { id: 'c', shown: 'c' }, resourceTypes: ['CREATIVE'] })).toBe(
      'audit_campaigns_pkey audit_attempts_by_campaign',
    );
    expect(await indexOf({ resource: { streams: ['a', 'b'], parts: ['p'], shown: 'p', owners: 1 } })).toBe(
      'audit_entries_by_stream audit_entries_by_part audit_attempts_by_resource',
    );
    expect(await indexOf({ outcome: 'denied' })).toBe('audit_attempts_by_outcome');
  });

  it('reports when its search was cut off, and from which time on it searched', async () => {
    const flooded = await service.openAccount('Flooded');
    for (let from = 1; from <= SCANNED_MAX + 1; from += 1_000) {
      await service.pool.query(
        `insert into audit_entries (customer_id, occurred_at, position, stream, revision, event_id, type,
           resource_type, actor, request_id, correlation_id, causation_id)
         select $1::bigint, '2001-01-01Z'::timestamptz + n * interval '1 second', n, 'task-' || $1::bigint, n,
           gen_random_uuid(), 'TaskCreated', 'TASK', 'operator', 'r', 'r', 'c'
         from generate_series($2::int, least($2 + 999, ${SCANNED_MAX + 1})) n`,
        [flooded.customerId, from],
      );
    }
    const ask = async (query: string) =>
      (
        await flooded.api.get<AuditLogs & { truncated: boolean; searchedFrom?: string }>(
          `/audit-logs?take=1&${query}`,
        )
      ).body.data;
    const found = await ask('resourceTypes=TASK&actorOrigin=WORKER');
    expect(found).toEqual({
      logs: [],
      total: 0,
      truncated: true,
      searchedFrom: '2001-01-01T00:00:02.000Z',
    });
    const rest = await ask(`resourceTypes=TASK&actorOrigin=OPERATOR&endDate=${found.searchedFrom}`);
    expect(rest).toMatchObject({ total: 2 });
    expect([rest.searchedFrom, rest.truncated]).toEqual([undefined, false]);
    // Two entries belong to the account itself. The whole list ends with the last listed entry.
    const all = await ask('skip=9999');
    expect(all).toMatchObject({ total: 10_000, truncated: true, searchedFrom: all.logs[0]?.timestamp });
    expect(all.logs[0]?.parameters['revision']).toBe(SCANNED_MAX + 1 - 9_997 + 1);
    expect((await ask('skip=10000')).logs).toEqual([]);
  });

  it('names the resource of each write operation', async () => {
    const subjectOf = subjectsOfRoutes(
      auditedKinds({ baseUrl: () => '', progress: undefined, database: undefined } as never),
    );
    const document = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as {
      readonly paths: Readonly<Record<string, object>>;
    };
    // Writes below other paths concern a session, a sign-in or a protocol.
    const writes = Object.entries(document.paths).filter(
      ([path, of]) =>
        path.startsWith('/api/v2/') &&
        Object.keys(of).some((method) => ['post', 'put', 'patch', 'delete'].includes(method)),
    );
    const ofNone = writes.flatMap(([path]) => (subjectOf({ path }) === undefined ? [path] : []));
    expect(ofNone).toEqual([]);
    const of = (path: string) => subjectOf({ path: `/api/v2/buyer${path}` });
    expect(of('/campaigns/{id}/creatives/{cid}')).toEqual({
      resourceType: 'CREATIVE',
      idParameter: 'cid',
      campaignParameter: 'id',
    });
    // By the resource that its token names.
    expect(of('/assets/uploads/{uploadId}')).toEqual({
      resourceType: 'ASSET',
      idParameter: 'assetId',
      advertiserParameter: 'advertiserId',
    });
    expect(of('/advertisers/{advertiserId}/syndicate')).toEqual({
      resourceType: 'SYNDICATION',
      advertiserParameter: 'advertiserId',
    });
    expect(of('/campaigns/{id}/creative-sessions/{sid}/evaluate')).toEqual({
      resourceType: 'CREATIVE_SESSION',
      idParameter: 'sid',
      campaignParameter: 'id',
    });
    expect(of('/campaigns/{id}/creatives/create')).toEqual({
      resourceType: 'CREATIVE',
      campaignParameter: 'id',
    });
    for (const [path, resourceType] of [
      ['/campaigns', 'CAMPAIGN'],
      ['/adcp-agents', 'ADCP_AGENT'],
      ['/api-keys', 'API_KEY'],
      ['/creative-engines/{id}/connections', 'ENGINE_CONNECTION'],
      ['/campaigns/{id}/creative-sessions', 'CREATIVE_SESSION'],
      ['/advertisers/{id}/assets/uploads', 'ASSET'],
      ['/advertisers/{id}/audiences/sync', 'AUDIENCE'],
      ['/advertisers/{id}/event-sources/sync', 'EVENT_SOURCE'],
    ] as const) {
      expect([path, of(path)?.resourceType, of(path)?.idParameter]).toEqual([path, resourceType, undefined]);
    }
  });

  it('names the resource type and owner of a refused creation', async () => {
    const library = `/advertisers/${advertiserId}/creatives/create`;
    for (const [path, id] of [
      ['/advertisers', 'no-advertiser'],
      [library, 'no-creative'],
    ] as const) {
      expect((await own.api.post(path, { name: '' }, { 'X-Request-Id': id })).status).toBe(400);
    }
    const found = async (requestId: string) =>
      (await logs('outcome=failed')).logs.find(({ parameters }) => parameters['requestId'] === requestId);
    while ((await found('no-creative')) === undefined) await pause(50);
    expect(await found('no-advertiser')).toMatchObject({
      action: 'createAdvertiser',
      resourceType: 'ADVERTISER',
    });
    expect(await found('no-creative')).toMatchObject({ resourceType: 'CREATIVE', advertiserId });
    const ofKind = (await logs(`outcome=failed&resourceTypes=CREATIVE&advertiserId=${advertiserId}`)).logs;
    expect(ofKind.map(({ action }) => action)).toContain('createAdvertiserCreative');
  });

  it("finds an advertiser's resource by its key without the advertiser's id", async () => {
    const second = (await own.api.post<{ id: number }>('/advertisers', { name: 'Second' })).body.data.id;
    await own.api.post(`/advertisers/${second}/event-sources/sync`, {
      account: { account_id: String(second) },
      event_sources: [{ event_source_id: 'web' }],
    });
    const catalogs = [{ catalog_id: 'shoes', type: 'product', items: [{ id: '1' }] }];
    await own.api.post(`/advertisers/${second}/catalogs/sync`, { catalogs });
    const found = (await logs('resourceId=web')).logs;
    expect(found.map(({ action, advertiserId: owner }) => [action, owner])).toEqual([
      ['EventSourceCreated', second],
      ['ConversionsLogged', advertiserId],
      ['EventSourceCreated', advertiserId],
    ]);
    expect((await logs(`resourceId=web&advertiserId=${second}`)).total).toBe(1);
    expect((await logs('resourceId=shoes')).logs.at(-1)).toMatchObject({
      resourceType: 'CATALOG',
      resourceId: 'shoes',
      advertiserId: second,
    });
    expect(await logs('resourceId=nobody-has-it')).toMatchObject({ logs: [], total: 0 });
    await service.pool.query(
      `insert into event_sources (customer_id, id, advertiser_id, key, status, revision, created_at, body)
       select $1, gen_random_uuid(), 1000000000 + n, 'common', 'ACTIVE', 0, now(), '{}'
       from generate_series(1, 101) n`,
      [own.customerId],
    );
    const refused = await own.api.get('/audit-logs?resourceId=common');
    expect([refusalOf(refused), refused.body.error?.details]).toEqual([
      invalid('advertiserId'),
      { limit: 100 },
    ]);
    expect((await own.api.get('/audit-logs?resourceId=common&advertiserId=1000000001')).status).toBe(200);
  });

  it('contains uses of revoked and expired keys and of disabled accounts, and of no other keys', async () => {
    const keys = await Promise.all(
      ['Revoked', 'Expired'].map(
        async (name) => (await own.api.post<typeof key>('/api-keys', { name })).body.data,
      ),
    );
    const [revoked, expired] = keys;
    await own.api.delete(`/api-keys/${revoked?.id}`);
    await service.pool.query(`update api_keys set expires_at = now() where key_id = $1`, [expired?.id]);
    const use = (credential: string | undefined, method = 'GET') =>
      fetch(`${service.baseUrl}/api/v2/buyer/advertisers/${advertiserId}`, {
        method,
        headers: { Authorization: `Bearer ${credential}` },
      });
    const before = (await logs('outcome=denied')).total;
    // Its id with another secret does not reveal the owner.
    const guessed = revoked?.key.replace(/.{4}$/, (end) => (end === 'aaaa' ? 'bbbb' : 'aaaa'));
    for (const credential of [guessed, revoked?.key, expired?.key]) {
      expect((await use(credential, 'DELETE')).status).toBe(401);
    }
    while ((await logs('outcome=denied')).total < before + 2) await pause(50);
    await pause(600);
    const { logs: denied } = await logs(`outcome=denied&take=${before + 3}`);
    expect(denied).toHaveLength(before + 2);
    for (const one of keys) {
      expect(denied.find(({ actor }) => actor === `api-key:${one.id}`)).toMatchObject({
        action: 'deleteAdvertiser',
        resourceType: 'ADVERTISER',
        resourceId: String(advertiserId),
        userId: `${own.customerId}-1`,
        outcome: 'denied',
        parameters: { status: 401, code: 'UNAUTHORIZED' },
      });
    }
    // A key's uses are limited to a minute's allowance.
    for (let n = 0; n < 130; n += 10) await Promise.all(Array.from({ length: 10 }, () => use(revoked?.key)));
    await pause(1_200);
    const ofOne = (await logs('outcome=denied&take=500')).logs.filter(
      ({ actor }) => actor === `api-key:${revoked?.id}`,
    );
    // Twice the allowance if a minute ended meanwhile.
    expect(ofOne.length).toBeGreaterThanOrEqual(60);
    expect(ofOne.length).toBeLessThanOrEqual(120);
    const closed = await service.openAccount('Closed');
    await service.pool.query('update accounts set disabled_at = now() where customer_id = $1', [
      closed.customerId,
    ]);
    expect((await closed.api.get('/advertisers')).status).toBe(401);
    await service.pool.query('update accounts set disabled_at = null where customer_id = $1', [
      closed.customerId,
    ]);
    const ofClosed = async () => (await closed.api.get<AuditLogs>('/audit-logs?outcome=denied')).body.data;
    while ((await ofClosed()).total < 1) await pause(50);
    expect((await ofClosed()).logs).toMatchObject([{ action: 'listAdvertisers', outcome: 'denied' }]);
  });

  it('is visible to admins only', async () => {
    const reader = await own.api.get('/audit-logs', { Authorization: `Bearer ${key.key}` });
    expect(reader.status).toBe(403);
  });
});

describe('the effects of a request', () => {
  interface CausedEvents {
    readonly causes: readonly CauseNode[];
    readonly refused: readonly AuditLog[];
    readonly nextAfter?: string;
  }

  /** If a creative were still listed because of its creation, a launch would not cause its submission. */
  const untilNoSubmissionIsDue = async (): Promise<void> => {
    const isListed = async (): Promise<boolean> =>
      (
        await service.pool.query(
          `select from work_list where kind in ('submission', 'launched-campaign', 'changed-creative') limit 1`,
        )
      ).rowCount !== 0;
    const head = await service.store.head();
    await until(async () => {
      const { rows } = await service.pool.query<{ position: string }>(
        `select position from projection_checkpoints where name = 'sellers'`,
      );
      return (rows[0]?.position ?? '') >= head && !(await isListed());
    });
  };

  it('are the events and jobs that it caused, as a tree', async () => {
    const { id } = (await api().post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data;
    const campaign = (await api().post<{ id: string }>('/campaigns', { advertiserId: id, name: 'Spring' }))
      .body.data.id;
    const tag = { formatKind: 'display_tag', copy: { tag: '<b></b>' } };
    await api().post(`/campaigns/${campaign}/creatives/create`, tag);
    await untilNoSubmissionIsDue();
    const requestId = { 'X-Request-Id': 'the-launch' };
    expect((await api().post(`/campaigns/${campaign}/execute`, {}, requestId)).status).toBe(200);
    const caused = async () => (await api().get<CausedEvents>('/requests/the-launch')).body.data;
    const submissionsOf = ([launch]: readonly CauseNode[]) =>
      launch?.kind === 'command' ? launch.followedBy : [];
    while (submissionsOf((await caused()).causes).length < 1) await pause(50);
    const { causes, refused } = await caused();
    expect(refused).toEqual([]);
    expect(causes).toMatchObject([
      {
        kind: 'command',
        causedBy: null,
        actor: expect.stringMatching(/^api-key:/) as unknown,
        events: [{ action: 'CampaignLaunched', resourceId: campaign }],
        followedBy: [
          {
            kind: 'job',
            causedBy: causes[0]?.id,
            worker: 'sellers',
            status: 'COMPLETED',
            events: [{ action: 'CreativeSubmitted', resourceType: 'CREATIVE' }],
          },
        ],
      },
    ]);
    // On a later page, an effect names its cause on an earlier page.
    const first = (await api().get<CausedEvents>('/requests/the-launch?take=1')).body.data;
    expect(first.causes).toMatchObject([{ id: causes[0]?.id, followedBy: [] }]);
    const second = (await api().get<CausedEvents>(`/requests/the-launch?take=1&after=${first.nextAfter}`))
      .body.data;
    expect(second).toMatchObject({ causes: [{ kind: 'job', causedBy: causes[0]?.id }] });
    expect(second.nextAfter).toBeUndefined();
    expect((await api().get('/requests/never')).status).toBe(404);
    // An unknown cursor is an error and does not look like the last page.
    for (const after of ['0', 'zzz', `${first.nextAfter}0`, '-']) {
      const wrongCursor = await api().get(`/requests/the-launch?after=${after}`);
      expect([after, ...refusalOf(wrongCursor)]).toEqual([after, ...invalid('after')]);
    }
    // On a busy machine a failed attempt of the worker is repeated after a delay.
  }, 120_000);

  it('are listed under each of several requests that caused the same work', async () => {
    const made = async (path: string, body: object): Promise<string> =>
      String((await api().post<{ id: number | string }>(path, body)).body.data.id);
    const advertiserId = Number(await made('/advertisers', { name: 'Acme' }));
    const one = await made('/campaigns', { advertiserId, name: 'One' });
    const two = await made('/campaigns', { advertiserId, name: 'Two' });
    const tag = { formatKind: 'display_tag', copy: { tag: '<b></b>' } };
    const creative = await made(`/campaigns/${one}/creatives/create`, tag);
    const attachments = `/advertisers/${advertiserId}/creatives/${creative}/campaigns`;
    expect((await api().post(attachments, { campaignId: two })).status).toBe(200);
    await untilNoSubmissionIsDue();
    const client = await service.pool.connect();
    try {
      // The lock keeps workers from taking work.
      await client.query('begin');
      await client.query('lock table work_list in exclusive mode');
      for (const [campaign, requestId] of [
        [one, 'launch-one'],
        [two, 'launch-two'],
      ] as const) {
        const headers = { 'X-Request-Id': requestId };
        expect((await api().post(`/campaigns/${campaign}/execute`, {}, headers)).status).toBe(200);
      }
    } finally {
      await client.query('rollback');
      client.release();
    }
    const caused = async (requestId: string, query = '') =>
      (await api().get<CausedEvents>(`/requests/${requestId}${query}`)).body.data;
    const jobs = new Set<string>();
    for (const [campaign, requestId] of [
      [one, 'launch-one'],
      [two, 'launch-two'],
    ] as const) {
      const followers = async () => {
        const [launch] = (await caused(requestId)).causes;
        return launch?.kind === 'command' ? launch.followedBy : [];
      };
      while ((await followers()).length < 1) await pause(50);
      const { causes, nextAfter } = await caused(requestId);
      expect(nextAfter).toBeUndefined();
      expect(causes).toMatchObject([
        {
          kind: 'command',
          causedBy: null,
          events: [{ action: 'CampaignLaunched', resourceId: campaign }],
          followedBy: [
            {
              kind: 'job',
              causedBy: causes[0]?.id,
              worker: 'sellers',
              status: 'COMPLETED',
              events: [{ action: 'CreativeSubmitted', resourceId: creative }],
            },
          ],
        },
      ]);
      for (const { id } of await followers()) jobs.add(id);
      const first = await caused(requestId, '?take=1');
      expect(first.causes).toMatchObject([{ id: causes[0]?.id, followedBy: [] }]);
      const second = await caused(requestId, `?take=1&after=${first.nextAfter}`);
      expect(second.causes).toMatchObject([{ kind: 'job', causedBy: causes[0]?.id }]);
      expect(second.nextAfter).toBeUndefined();
      // For another account the request does not exist.
      const other = await service.openAccount('Another');
      expect((await other.api.get(`/requests/${requestId}`)).status).toBe(404);
    }
    expect(jobs.size).toBe(1);
  }, 120_000);

  it('of a refused request are none, with the reason of the refusal', async () => {
    const requestId = { 'X-Request-Id': 'a-refused-one' };
    await api().post('/advertisers', { name: '' }, requestId);
    const caused = () => api().get<CausedEvents>('/requests/a-refused-one');
    while ((await caused()).status === 404) await pause(50);
    expect((await caused()).body.data).toMatchObject({
      causes: [],
      refused: [{ action: 'createAdvertiser', parameters: { field: 'name' } }],
    });
  });
});

/** Enough rows that the planner's statistics are the same whenever they are collected. */
const fillAuditLog = async (customerId: number): Promise<void> => {
  for (let from = 1; from < 20_000; from += 250) {
    for (const filler of auditFillers) await service.pool.query(filler, [customerId, from]);
  }
  for (const table of ['audit_entries', 'audit_campaigns', 'audit_attempts']) {
    await service.pool.query(`analyze ${table}`);
  }
};

const auditFillers = [
  `insert into audit_entries (customer_id, occurred_at, position, stream, revision, event_id, type, resource_type, part,
     advertiser_id, actor, user_id, request_id, correlation_id, causation_id)
   select $1::bigint, '2001-01-01Z'::timestamptz + n * interval '1 second', lpad(n::text, 20, '0'), 's' || n % 2000,
     n / 2000, gen_random_uuid(), 'Type' || n % 50, 'KIND' || n % 12, 'p' || n % 500, n % 40,
     case n % 10 when 0 then 'worker' else 'api-key:k' end, 'u' || n % 7, 'r' || n, 'r' || n, 'r' || n
   from generate_series($2::int, $2 + 249) n`,
  `insert into audit_campaigns (customer_id, campaign_id, occurred_at, position)
   select $1::bigint, 'c' || n % 100, '2001-01-01Z'::timestamptz + n * interval '1 second', lpad(n::text, 20, '0')
   from generate_series($2::int, $2 + 249) n`,
  `insert into audit_attempts (customer_id, occurred_at, id, operation, resource_type, resource_id, advertiser_id,
     campaign_id, actor, user_id, request_id, status, outcome, code)
   select $1::bigint, '2001-01-01Z'::timestamptz + n * interval '1 second', gen_random_uuid(), 'op' || n % 50,
     'KIND' || n % 12, 'r' || n % 500, n % 40, 'c' || n % 100, case n % 10 when 0 then 'worker' else 'api-key:k' end,
     'u' || n % 7, 'r' || n, 403, case n % 3 when 0 then 'denied' else 'failed' end, 'CODE'
   from generate_series($2::int, $2 + 249) n`,
];
