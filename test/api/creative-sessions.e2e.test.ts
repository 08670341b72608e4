import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CampaignResource } from '../../domain/campaigns/resource.ts';
import type {
  CreativeSessionDetail,
  CreativeSessionResource,
} from '../../domain/creative-sessions/resource.ts';
import type { CreativeDetail } from '../../domain/creatives/creative-detail.ts';
import type { CreativeResource } from '../../domain/creatives/resource.ts';
import { conflict, invalid, notFound, refusalOf } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

let service: RunningService;
let account: TestAccount;
let advertiserId: number;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
  advertiserId = await advertiser();
});
afterAll(() => service.stop());

const api = (): TestAccount['api'] => account.api;

interface Page {
  readonly sessions: readonly CreativeSessionResource[];
  readonly nextCursor?: string;
}
interface FinalizeResult {
  readonly session: CreativeSessionResource;
  readonly creativeId: string;
}

const advertiser = async (): Promise<number> =>
  (await api().post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data.id;
const campaign = async (owner = advertiserId): Promise<string> =>
  (await api().post<CampaignResource>('/campaigns', { advertiserId: owner, name: 'Spring' })).body.data.id;
const sessionsOf = (campaignId: string): string => `/campaigns/${campaignId}/creative-sessions`;
const list = (campaignId: string, query = '') => api().get<Page>(sessionsOf(campaignId) + query);
const start = async (campaignId: string, body: object = {}): Promise<CreativeSessionResource> => {
  const answer = await api().post<CreativeSessionResource>(sessionsOf(campaignId), {
    title: 'Idea',
    ...body,
  });
  expect(answer.status).toBe(201);
  return answer.body.data;
};
const pathOf = ({ campaignId, id }: CreativeSessionResource): string => `${sessionsOf(campaignId)}/${id}`;
const detail = async (session: CreativeSessionResource): Promise<CreativeSessionDetail> =>
  (await api().get<CreativeSessionDetail>(pathOf(session))).body.data;
const evaluate = (session: CreativeSessionResource, body: object = { stage: 'draft' }) =>
  api().post<CreativeSessionDetail>(`${pathOf(session)}/evaluate`, body);
const refine = (
  session: CreativeSessionResource,
  variantId: string,
  body: object = { feedback: 'Shorter' },
) => api().post<CreativeSessionDetail>(`${pathOf(session)}/variants/${variantId}/refine`, body);
const finalize = (session: CreativeSessionResource, body: object, headers = {}) =>
  api().post<FinalizeResult>(`${pathOf(session)}/finalize`, body, headers);
const variantOf = ({ variants }: CreativeSessionDetail, n = 0): string => variants[n]?.id ?? '';

describe('a session from its start to its creative', () => {
  it('is drafted, refined, evaluated and finalized', async () => {
    const campaignId = await campaign();
    const formatKind = 'custom';
    const prompt = 'Shoes that last a lifetime. No more than that.';
    const started = await start(campaignId, { title: 'Idea 👋', prompt, formatKind });
    expect(started).toEqual({
      id: expect.stringMatching(/^ses_[0-9a-f]{32}$/) as unknown,
      campaignId,
      title: 'Idea 👋',
      status: 'drafting',
      revision: 1,
      updatedAt: started.updatedAt,
    });
    expect((await list(campaignId)).body.data).toEqual({ sessions: [started] });
    const first = await detail(started);
    expect(first).toMatchObject({ ...started, prompt, formatKind, createdAt: started.updatedAt });
    expect(first.variants.length).toBe(3);
    expect(first.variants[0]).toMatchObject({
      copy: { headline: 'Idea 👋', body: 'Shoes that last a lifetime.' },
      selected: false,
      evaluations: [],
    });

    expect(refusalOf(await finalize(started, { variantId: variantOf(first) }))).toEqual(conflict());
    const refined = (await refine(started, variantOf(first), { feedback: 'Louder', expectedRevision: 1 }))
      .body.data;
    expect(refined).toMatchObject({ status: 'refining', revision: 2 });
    expect(refined.variants[3]).toMatchObject({
      refinedFrom: variantOf(first),
      feedback: 'Louder',
      selected: true,
      copy: { headline: 'Idea 👋!' },
    });
    const stale = await refine(started, variantOf(first), { feedback: 'Louder', expectedRevision: 1 });
    expect(refusalOf(stale)).toEqual(conflict('expectedRevision'));
    expect(stale.body.error?.details).toEqual({ expectedRevision: 1, currentRevision: 2 });

    const evaluated = (await evaluate(started)).body.data;
    expect(evaluated).toMatchObject({ status: 'evaluating', revision: 3 });
    expect(evaluated.variants.map(({ evaluations }) => evaluations.map(({ stage }) => stage))).toEqual([
      ['draft'],
      ['draft'],
      ['draft'],
      ['draft'],
    ]);
    expect((await evaluate(started)).body.data).toEqual(evaluated);
    expect(await detail(started)).toEqual(evaluated);

    const variantId = variantOf(refined, 3);
    const { session, creativeId } = (await finalize(started, { variantId, name: 'Ours' })).body.data;
    expect(session).toMatchObject({ id: started.id, status: 'finalized', revision: 4 });
    expect((await list(campaignId)).body.data).toEqual({ sessions: [session] });
    expect(await detail(started)).toMatchObject({ ...session, finalVariantId: variantId, creativeId });
    const creative = await api().get<CreativeResource>(`/campaigns/${campaignId}/creatives/${creativeId}`);
    expect(creative.body.data).toMatchObject({
      name: 'Ours',
      state: 'ready',
      formatKind,
      copy: refined.variants[3]?.copy,
      revision: 1,
    });
    const shown = await api().get<CreativeDetail>(`/creatives/${creativeId}/detail`);
    expect(shown.body.data).toMatchObject({ source: 'generated', campaigns: [{ campaignId }] });

    const again = await finalize(started, { variantId, name: 'Another' });
    expect([again.status, again.body.data]).toEqual([200, { session, creativeId }]);
    const others = [
      await finalize(started, { variantId: variantOf(first) }),
      await refine(started, variantOf(first)),
      await evaluate(started),
    ];
    for (const other of others) {
      expect(refusalOf(other)).toEqual(conflict());
      expect(other.body.error?.details).toEqual({ variantId, creativeId });
    }
  });

  it('uses the title with the lowest free number; a taken name leaves the session open', async () => {
    const campaignId = await campaign();
    const names = [];
    for (let n = 0; n < 2; n += 1) {
      const session = await start(campaignId);
      const variantId = variantOf((await evaluate(session)).body.data);
      const { creativeId } = (await finalize(session, { variantId })).body.data;
      const creative = await api().get<CreativeResource>(`/campaigns/${campaignId}/creatives/${creativeId}`);
      names.push(creative.body.data.name);
      // Its format needs an asset.
      expect(creative.body.data).toMatchObject({ state: 'draft', formatKind: 'responsive_creative' });
    }
    expect(names).toEqual(['Idea', 'Idea 2']);
    const session = await start(campaignId);
    const variantId = variantOf((await evaluate(session)).body.data);
    expect(refusalOf(await finalize(session, { variantId, name: 'Idea' }))).toEqual(conflict('name'));
    expect((await detail(session)).status).toBe('evaluating');
    expect((await finalize(session, { variantId, name: 'Idea 3' })).status).toBe(200);
  });

  it('finalized by two concurrent requests with different names keeps one name and frees the other', async () => {
    const campaignId = await campaign();
    const session = await start(campaignId);
    const variantId = variantOf((await evaluate(session)).body.data);
    const names = ['One', 'Two'];
    const answers = await Promise.all(names.map((name) => finalize(session, { variantId, name })));
    const [{ creativeId } = { creativeId: '' }, other] = answers.map(({ body }) => body.data);
    expect(other?.creativeId).toBe(creativeId);
    const creative = await api().get<CreativeResource>(`/campaigns/${campaignId}/creatives/${creativeId}`);
    const free = names.filter((name) => name !== creative.body.data.name);
    expect(free).toHaveLength(1);
    const next = await start(campaignId);
    const variant = variantOf((await evaluate(next)).body.data);
    expect((await finalize(next, { variantId: variant, name: free[0] })).status).toBe(200);
  });

  it('repeated with the same key returns the same session, variant and creative, byte for byte', async () => {
    const campaignId = await campaign();
    const headers = (step: string) => ({ 'Idempotency-Key': `creative-session-${step}` });
    const twice = async (path: string, body: object, step: string) => {
      const first = await api().post<CreativeSessionDetail>(path, body, headers(step));
      const second = await api().post(path, body, headers(step));
      expect([second.text, second.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
      return first.body.data;
    };
    const session = await twice(sessionsOf(campaignId), { title: 'Once' }, 'started');
    const variant = variantOf(await detail(session));
    const refined = await twice(
      `${pathOf(session)}/variants/${variant}/refine`,
      { feedback: 'Shorter' },
      'refined',
    );
    expect(refined.variants).toHaveLength(4);
    const body = { variantId: variantOf(refined, 3) };
    await twice(`${pathOf(session)}/finalize`, body, 'finalized');
    expect((await list(campaignId)).body.data.sessions).toHaveLength(1);
    const creatives = await api().get(`/campaigns/${campaignId}/creatives`);
    expect(creatives.body.meta.pagination.total).toBe(1);
  });
});

it('a session uses a live connection of the account until the connection ends', async () => {
  const campaignId = await campaign();
  const connect = async ({ api: theirs }: TestAccount): Promise<string> =>
    (await theirs.post<{ id: string }>('/creative-engines/1/connections', { apiKey: 'sbx_any' })).body.data
      .id;
  const connectionId = await connect(account);
  const session = await start(campaignId, { connectionId });
  const shown = await detail(session);
  expect(shown.connectionId).toBe(connectionId);
  const others = [await connect(await service.openAccount()), `con_${'0'.repeat(32)}`];
  for (const other of others) {
    const refused = await api().post(sessionsOf(campaignId), { title: 'x', connectionId: other });
    expect(refusalOf(refused)).toEqual(notFound('connectionId'));
  }
  const evaluated = (await evaluate(session)).body.data;
  expect((await api().delete(`/creative-engines/1/connections/${connectionId}`)).status).toBe(204);
  const late = await refine(session, variantOf(shown));
  expect([...refusalOf(late), late.body.error?.details]).toEqual([...conflict(), { connectionId }]);
  expect(refusalOf(await evaluate(session, { stage: 'final' }))).toEqual(conflict());
  // With no variant left to evaluate, the engine is not called.
  expect((await evaluate(session)).body.data).toEqual(evaluated);
  expect(await detail(session)).toEqual(evaluated);
});

describe('the list', () => {
  it('is empty for a new campaign, and 404 for an unknown campaign id of any form', async () => {
    const empty = await list(await campaign());
    expect([empty.status, empty.body]).toEqual([200, { data: { sessions: [] }, error: null }]);
    for (const id of [
      `cmp_${'0'.repeat(32)}`,
      'x',
      '0',
      '%F0%9F%91%8B',
      '%00',
      '%2e%2e%2f',
      'x'.repeat(5_000),
    ]) {
      expect(refusalOf(await list(id))).toEqual(notFound());
    }
  });

  it('is paged, most recently changed first', async () => {
    const campaignId = await campaign();
    const made: CreativeSessionResource[] = [];
    for (let n = 0; n < 7; n += 1) made.push(await start(campaignId, { title: `Idea ${n}` }));
    await evaluate(made[2] as CreativeSessionResource);
    const all = (await list(campaignId)).body.data;
    expect(all.sessions.map(({ title }) => title)[0]).toBe('Idea 2');
    expect(all.nextCursor).toBeUndefined();
    const walked: CreativeSessionResource[] = [];
    let [cursor, pages] = ['', 0];
    do {
      const { sessions, nextCursor = '' } = (await list(campaignId, `?limit=3${cursor}`)).body.data;
      walked.push(...sessions);
      [cursor, pages] = [nextCursor && `&cursor=${nextCursor}`, pages + 1];
      // A session that was listed and moves to the front is not listed again.
      if (pages === 1) await evaluate(sessions[1] as CreativeSessionResource);
    } while (cursor !== '');
    expect(pages).toBe(3);
    expect(walked.map(({ id }) => id)).toEqual(all.sessions.map(({ id }) => id));
    expect((await list(campaignId, '?limit=7')).body.data.nextCursor).toBeUndefined();
    expect((await list(campaignId, '?limit=100')).body.data.sessions).toHaveLength(7);
  });

  it('accepts its own cursors only, and limits from 1 to 100', async () => {
    const [campaignId, other] = [await campaign(), await campaign()];
    for (let n = 0; n < 2; n += 1) await start(campaignId);
    await start(other);
    const { nextCursor = '' } = (await list(campaignId, '?limit=1')).body.data;
    const wrong = [`${nextCursor}x`, nextCursor.slice(1), 'x', 'eyJ9', 'x'.repeat(2_000), ''];
    for (const cursor of wrong) {
      expect(refusalOf(await list(campaignId, `?cursor=${cursor}`))).toEqual(invalid('cursor'));
    }
    expect(refusalOf(await list(other, `?cursor=${nextCursor}`))).toEqual(invalid('cursor'));
    const stranger = await service.openAccount();
    const foreign = await stranger.api.get(`${sessionsOf(campaignId)}?limit=1`);
    expect(refusalOf(foreign)).toEqual(notFound());
    for (const limit of ['0', '101', '-1', '1.5', 'x', '']) {
      expect(refusalOf(await list(campaignId, `?limit=${limit}`))).toEqual(invalid('limit'));
    }
  });
});

describe('refusals', () => {
  it('invalid input is 400 with its field', async () => {
    const campaignId = await campaign();
    const head = await service.store.head();
    for (const [field, body] of [
      ['title', {}],
      ['title', { title: '' }],
      ['title', { title: 'x'.repeat(256) }],
      ['prompt', { title: 'x', prompt: 'x'.repeat(5_001) }],
      ['formatKind', { title: 'x', formatKind: 'poster' }],
      ['connectionId', { title: 'x', connectionId: '' }],
    ] as const) {
      expect(refusalOf(await api().post(sessionsOf(campaignId), body))).toEqual(invalid(field));
    }
    const unconnected = await api().post(sessionsOf(campaignId), { title: 'x', connectionId: 'cnx_1' });
    expect(refusalOf(unconnected)).toEqual(notFound('connectionId'));
    expect(refusalOf(await api().post(sessionsOf('cmp_1'), { title: 'x' }))).toEqual(notFound());
    expect(await service.store.head()).toBe(head);

    const session = await start(campaignId);
    const variant = variantOf(await detail(session));
    expect(refusalOf(await refine(session, variant, {}))).toEqual(invalid('feedback'));
    expect(refusalOf(await refine(session, variant, { feedback: 'x'.repeat(2_001) }))).toEqual(
      invalid('feedback'),
    );
    expect(refusalOf(await evaluate(session, { stage: 'x'.repeat(65) }))).toEqual(invalid('stage'));
    expect(refusalOf(await finalize(session, {}))).toEqual(invalid('variantId'));
    expect(refusalOf(await finalize(session, { variantId: variant, name: '' }))).toEqual(invalid('name'));
    for (const unknown of [`var_${'0'.repeat(32)}`, 'x', 'x'.repeat(3_000)]) {
      expect(refusalOf(await refine(session, unknown))).toEqual(notFound());
    }
    expect(refusalOf(await finalize(session, { variantId: 'x' }))).toEqual(notFound('variantId'));
    const elsewhere = { ...session, campaignId: await campaign() };
    expect(refusalOf(await evaluate(elsewhere))).toEqual(notFound());
    expect(refusalOf(await api().get(pathOf(elsewhere)))).toEqual(notFound());
    expect((await detail(session)).revision).toBe(1);
  });

  it.each([
    ['in an archived campaign', (id: string) => api().delete(`/campaigns/${id}`)],
    ['below an archived advertiser', (_id: string, owner: number) => api().delete(`/advertisers/${owner}`)],
  ])('every change is refused %s; reads continue', async (_where, close) => {
    const owner = await advertiser();
    const campaignId = await campaign(owner);
    const session = await start(campaignId);
    const evaluated = (await evaluate(session)).body.data;
    const ended = await start(campaignId);
    const variantId = variantOf((await evaluate(ended)).body.data);
    const done = (await finalize(ended, { variantId })).body.data;
    expect((await close(campaignId, owner)).status).toBe(204);
    const refused = [
      await api().post(sessionsOf(campaignId), { title: 'x' }),
      await refine(session, variantOf(evaluated)),
      await evaluate(session, { stage: 'final' }),
      await finalize(session, { variantId: variantOf(evaluated) }),
    ];
    expect(refused.map(refusalOf)).toEqual(refused.map(() => conflict()));
    expect(await detail(session)).toEqual(evaluated);
    expect((await list(campaignId)).body.data.sessions).toHaveLength(2);
    expect((await finalize(ended, { variantId })).body.data).toEqual(done);
  });
});
