import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { CampaignResource } from '../../domain/campaigns/resource.ts';
import type { CreativeDetail } from '../../domain/creatives/creative-detail.ts';
import { creativeIdOf, type CreativeResource } from '../../domain/creatives/resource.ts';
import { creativeStream } from '../../domain/creatives/creative.ts';
import { conflict, invalid, notFound, refusalOf } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { png } from '../support/sample-media.ts';
import { reserve, upload } from '../support/uploads.ts';

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

const advertiser = async (): Promise<number> =>
  (await api().post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data.id;
const campaign = async (name = 'Spring', owner = advertiserId): Promise<string> =>
  (await api().post<CampaignResource>('/campaigns', { advertiserId: owner, name })).body.data.id;
const tag = { formatKind: 'display_tag', copy: { tag: '<script></script>' } };
const create = (campaignId: string, body: object) =>
  api().post<CreativeResource>(`/campaigns/${campaignId}/creatives/create`, { ...tag, ...body });
const creative = async (campaignId: string, body: object): Promise<CreativeResource> => {
  const answer = await create(campaignId, body);
  expect(answer.status).toBe(201);
  return answer.body.data;
};
const get = (campaignId: string, id: string) =>
  api().get<CreativeResource>(`/campaigns/${campaignId}/creatives/${id}`);
const put = (campaignId: string, id: string, body: object) =>
  api().put<CreativeResource>(`/campaigns/${campaignId}/creatives/${id}`, body);
const detail = async (id: string): Promise<CreativeDetail> =>
  (await api().get<CreativeDetail>(`/creatives/${id}/detail`)).body.data;
const namesIn = async (campaignId: string): Promise<readonly string[]> =>
  (await api().get<CreativeResource[]>(`/campaigns/${campaignId}/creatives`)).body.data.map(
    ({ name }) => name,
  );

describe('create', () => {
  it('returns the given members in every answer', async () => {
    const campaignId = await campaign('Launch');
    const body = {
      name: 'Banner 👋',
      formatId: { agentUrl: 'https://formats.example.com', id: 'display_300x250', width: 300, height: 250 },
      slots: [
        { slotId: 'headline', kind: 'text', value: 'Hello' },
        { slotId: 'landing', kind: 'url', value: 'https://example.com/' },
      ],
      clickUrl: 'https://example.com/click',
      trackers: { impression: ['https://t.example.com/1'], click: 'https://t.example.com/2' },
      message: 'For spring',
      urlAsset: { url: 'https://vast.example.com/', urlType: 'vast', vastVersion: '4.2' },
      webhookAsset: { url: 'https://hook.example.com/' },
      carouselCards: [{ headline: 'One', cta: 'Go', landingPageUrl: 'https://example.com/1' }],
      formatOptionId: 'option-1',
      role: 'evergreen',
      frequencyCaps: [{ max_impressions: 3, window: { interval: 60 } }],
    };
    const made = await creative(campaignId, body);
    const { formatOptionId: _, ...shown } = body;
    const cap = made.frequencyCaps[0];
    expect(made).toEqual({
      ...tag,
      ...shown,
      id: expect.stringMatching(/^cre_[0-9a-f]{32}$/) as unknown,
      advertiserId,
      state: 'ready',
      formatLabel: 'Display tag',
      trackers: { impression: ['https://t.example.com/1'], click: ['https://t.example.com/2'] },
      webhookAsset: {
        url: 'https://hook.example.com/',
        method: 'POST',
        timeoutMs: 1_000,
        responseType: 'json',
        security: { method: 'none' },
      },
      promoted: true,
      revision: 1,
      createdAt: made.updatedAt,
      updatedAt: made.updatedAt,
      frequencyCaps: [
        {
          id: cap?.id,
          targetLevel: 'CREATIVE',
          targetId: made.id,
          max_impressions: 3,
          window: { interval: 60, unit: 'minutes' },
          createdAt: made.createdAt,
          updatedAt: made.createdAt,
        },
      ],
    });
    expect((await get(campaignId, made.id)).body.data).toEqual(made);
    const { id, formatId, slots, copy, trackers, ...same } = made;
    expect([formatId?.width, slots.length, Object.keys(copy), Object.keys(trackers).length]).toEqual([
      300,
      2,
      ['tag'],
      2,
    ]);
    expect(await detail(id)).toEqual({
      ...same,
      creativeId: id,
      source: 'uploaded',
      formatOptionId: 'option-1',
      specLine: '300x250',
      assets: [],
      campaigns: [{ campaignId, name: 'Launch', phase: 'draft' }],
      sellerStatuses: [],
    });
  });

  it('without the members of its format is a draft; without a name it is named after its format', async () => {
    const campaignId = await campaign();
    const made = [];
    for (let n = 0; n < 3; n += 1) {
      made.push(
        (await api().post<CreativeResource>(`/campaigns/${campaignId}/creatives`, { formatKind: 'image' }))
          .body.data,
      );
    }
    expect(made.map(({ name, state, slots, copy }) => ({ name, state, slots, copy }))).toEqual(
      ['Image creative', 'Image creative 2', 'Image creative 3'].map((name) => ({
        name,
        state: 'draft',
        slots: [],
        copy: {},
      })),
    );
  });

  it('cannot be submitted as a draft: the refusal names what its format needs', async () => {
    const campaignId = await campaign();
    const submit = async (body: object): Promise<unknown> => {
      const { id } = (await api().post<CreativeResource>(`/campaigns/${campaignId}/creatives`, body)).body
        .data;
      const answer = await api().post(`/creatives/${id}/submit`, { sellerIds: [1] });
      return [answer.status, answer.body.error?.details];
    };
    const asset = 'an asset in `slots`';
    expect(await submit({ formatKind: 'native_in_feed' })).toEqual([
      409,
      { missing: [asset, 'text in `copy`'] },
    ]);
    const empty = { formatKind: 'image', slots: [{ slotId: 'main', kind: 'asset' }] };
    expect(await submit(empty)).toEqual([
      409,
      { missing: [asset, 'an asset or a value in each of the `slots`'] },
    ]);
    expect(await submit({ formatKind: 'display_tag', copy: { tag: '<a>' } })).toEqual([202, undefined]);
  });

  it('refuses a used name and names its owner; another campaign may use it', async () => {
    const [one, other] = [await campaign(), await campaign()];
    const first = await creative(one, { name: 'Same' });
    const again = await create(one, { name: 'Same' });
    expect(refusalOf(again)).toEqual(conflict('name'));
    expect(again.body.error?.details).toEqual({ creativeId: first.id });
    expect((await create(other, { name: 'Same' })).status).toBe(201);
  });

  it('of twenty at once with one name succeeds once', async () => {
    const campaignId = await campaign();
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(campaignId, { name: 'Race' })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(19);
    expect(await namesIn(campaignId)).toEqual(['Race']);
  });

  it.each<[string, object]>([
    ['formatKind', { formatKind: 'poster' }],
    ['name', { name: 'x'.repeat(256) }],
    ['clickUrl', { clickUrl: 'javascript:alert(1)' }],
    ['clickUrl', { clickUrl: 'https:example.com' }],
    ['clickUrl', { clickUrl: 'http:///example.com' }],
    ['slots', { slots: ['a', 'a'].map((slotId) => ({ slotId, kind: 'text' })) }],
    ['slots.0.kind', { slots: [{ slotId: 'a', kind: 'image' }] }],
    ['slots.0.assetId', { slots: [{ slotId: 'a', kind: 'text', assetId: 'x' }] }],
    ['urlAsset.vastVersion', { urlAsset: { url: 'https://x.example.com', vastVersion: '2.0' } }],
    ['webhookAsset.timeoutMs', { webhookAsset: { url: 'https://x.example.com', timeoutMs: 9 } }],
    ['webhookAsset.url', { webhookAsset: { url: 'http://x.example.com' } }],
    ['carouselCards', { carouselCards: Array.from({ length: 21 }, () => ({})) }],
    ['frequencyCaps.0.window.interval', { frequencyCaps: [{ max_impressions: 1, window: { interval: 0 } }] }],
    [
      'trackers',
      { trackers: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, 'https://x.example.com'])) },
    ],
    ['role', { role: 'hero' }],
  ])('refuses an invalid %s with 400', async (field, wrong) => {
    expect(refusalOf(await create('cmp_none', wrong))).toEqual(invalid(field));
  });

  it('is 404 for an asset outside the library, and creates no creative', async () => {
    const campaignId = await campaign();
    const slots = [
      { slotId: 'a', kind: 'text', value: 'x' },
      { slotId: 'b', kind: 'asset', assetId: `ast_${'0'.repeat(32)}` },
    ];
    expect(refusalOf(await create(campaignId, { slots }))).toEqual(notFound('slots.1.assetId'));
    const carouselCards = [{ assetId: 'none' }];
    expect(refusalOf(await create(campaignId, { carouselCards }))).toEqual(
      notFound('carouselCards.0.assetId'),
    );
    expect(await namesIn(campaignId)).toEqual([]);
  });

  it('is 404 in a missing campaign, and 409 in a closed one or below an archived advertiser', async () => {
    expect(refusalOf(await create(`cmp_${'0'.repeat(32)}`, {}))).toEqual(notFound());
    const closed = await campaign();
    const kept = await creative(closed, { name: 'Kept' });
    await api().delete(`/campaigns/${closed}`);
    expect(refusalOf(await create(closed, {}))).toEqual(conflict());
    expect(refusalOf(await put(closed, kept.id, { name: 'B' }))).toEqual(conflict());
    expect(refusalOf(await api().delete(`/campaigns/${closed}/creatives/${kept.id}`))).toEqual(conflict());
    const assigned = `/advertisers/${advertiserId}/creatives/${kept.id}/campaigns/${closed}`;
    expect(refusalOf(await api().delete(assigned))).toEqual(conflict());
    expect((await get(closed, kept.id)).body.data).toEqual(kept);
    const open = await campaign();
    await api().post(`/advertisers/${advertiserId}/creatives/${kept.id}/campaigns`, { campaignId: open });
    expect((await put(open, kept.id, { name: 'B' })).body.data.name).toBe('B');
    const other = await advertiser();
    const below = await campaign('x', other);
    const { id } = await creative(below, { name: 'A' });
    await api().delete(`/advertisers/${other}`);
    expect(refusalOf(await create(below, {}))).toEqual(conflict());
    expect(refusalOf(await put(below, id, { name: 'B' }))).toEqual(conflict());
    expect((await get(below, id)).status).toBe(200);
  });
});

describe('update', () => {
  it('keeps members that are left out, removes null ones, completes a draft, and counts revisions', async () => {
    const campaignId = await campaign();
    const made = await creative(campaignId, {
      name: 'A',
      copy: {},
      message: 'x',
      clickUrl: 'https://example.com/',
    });
    expect(made.state).toBe('draft');
    const filled = (await put(campaignId, made.id, { copy: { tag: 'x' }, expectedRevision: 1 })).body.data;
    expect(filled).toMatchObject({ state: 'ready', message: 'x', revision: 2 });
    const cleared = (await put(campaignId, made.id, { message: null, clickUrl: null })).body.data;
    expect(cleared).not.toHaveProperty('message');
    expect(cleared).not.toHaveProperty('clickUrl');
    expect((await put(campaignId, made.id, { name: 'A', copy: { tag: 'x' } })).body.data).toEqual(cleared);
    expect((await put(campaignId, made.id, { role: 'reference' })).body.data.promoted).toBe(true);
    expect((await put(campaignId, made.id, { role: null })).body.data).toMatchObject({
      promoted: false,
      revision: 5,
    });
    const stale = await put(campaignId, made.id, { message: 'y', expectedRevision: 2 });
    expect(refusalOf(stale)).toEqual(conflict('expectedRevision'));
    expect(stale.body.error?.details).toEqual({ expectedRevision: 2, currentRevision: 5 });
    expect(refusalOf(await put(campaignId, made.id, { state: 'archived' }))).toEqual(invalid('state'));
  });

  it('accepts its own answer as input', async () => {
    const campaignId = await campaign();
    const made = await creative(campaignId, {
      frequencyCaps: [{ max_impressions: 1, window: { interval: 1 } }],
    });
    expect((await put(campaignId, made.id, made)).body.data).toEqual(made);
  });

  it('of the name reserves the new name in every campaign and frees the old one', async () => {
    const [one, two] = [await campaign(), await campaign()];
    const { id } = await creative(one, { name: 'Old' });
    await api().post(`/advertisers/${advertiserId}/creatives/${id}/campaigns`, { campaignId: two });
    const taken = await creative(two, { name: 'Taken' });
    const refused = await put(one, id, { name: 'Taken' });
    expect(refusalOf(refused)).toEqual(conflict('name'));
    expect(refused.body.error?.details).toEqual({ creativeId: taken.id });
    expect((await put(one, id, { name: 'New' })).status).toBe(200);
    for (const campaignId of [one, two]) {
      expect(refusalOf(await create(campaignId, { name: 'New' }))).toEqual(conflict('name'));
      expect((await create(campaignId, { name: 'Old' })).status).toBe(201);
    }
  });

  it('replaces frequency caps; an unchanged cap keeps its id', async () => {
    const campaignId = await campaign();
    const caps = [1, 2].map((interval) => ({ max_impressions: 1, window: { interval } }));
    const made = await creative(campaignId, { frequencyCaps: caps });
    const next = await put(campaignId, made.id, {
      frequencyCaps: [caps[1], { max_impressions: 9, window: { interval: 1 } }],
    });
    const [kept, fresh] = next.body.data.frequencyCaps;
    expect(kept).toEqual(made.frequencyCaps[1]);
    expect(made.frequencyCaps.map(({ id }) => id)).not.toContain(fresh?.id);
  });
});

describe('duplicate', () => {
  const duplicate = (campaignId: string, id: string, headers = {}) =>
    api().post<CreativeResource>(`/campaigns/${campaignId}/creatives/${id}/duplicate`, undefined, headers);

  it('copies the content, resets the status, and uses the lowest free name', async () => {
    const campaignId = await campaign();
    const frequencyCaps = [{ max_impressions: 1, window: { interval: 1 } }];
    const source = await creative(campaignId, { name: 'A', role: 'evergreen', frequencyCaps, message: 'x' });
    const answer = await duplicate(campaignId, source.id);
    expect(answer.status).toBe(201);
    const copy = answer.body.data;
    const [cap] = copy.frequencyCaps;
    expect(copy).toEqual({
      ...source,
      id: copy.id,
      name: 'A (copy)',
      state: 'draft',
      promoted: false,
      revision: 1,
      createdAt: copy.createdAt,
      updatedAt: copy.createdAt,
      frequencyCaps: [
        {
          ...source.frequencyCaps[0],
          id: cap?.id,
          targetId: copy.id,
          createdAt: copy.createdAt,
          updatedAt: copy.createdAt,
        },
      ],
    });
    expect(copy.id).not.toBe(source.id);
    expect(cap?.id).not.toBe(source.frequencyCaps[0]?.id);
    expect((await detail(copy.id)).campaigns.map((one) => one.campaignId)).toEqual([campaignId]);
    const second = (await duplicate(campaignId, copy.id)).body.data;
    const third = (await duplicate(campaignId, source.id)).body.data;
    expect([second.name, third.name]).toEqual(['A (copy 2)', 'A (copy 3)']);
    await api().delete(`/campaigns/${campaignId}/creatives/${second.id}`);
    expect((await duplicate(campaignId, source.id)).body.data.name).toBe('A (copy 2)');
    expect((await get(campaignId, source.id)).body.data).toEqual(source);
  });

  it('ten times at once creates ten names; ten times with one key creates one copy', async () => {
    const campaignId = await campaign();
    const { id } = await creative(campaignId, { name: 'B' });
    await Promise.all(Array.from({ length: 10 }, () => duplicate(campaignId, id)));
    expect([...(await namesIn(campaignId))].sort()).toEqual(
      ['B', 'B (copy)', ...Array.from({ length: 9 }, (_, n) => `B (copy ${n + 2})`)].sort(),
    );
    const headers = { 'Idempotency-Key': `duplicate-of-one-key-${id}` };
    await Promise.all(Array.from({ length: 10 }, () => duplicate(campaignId, id, headers)));
    expect(await namesIn(campaignId)).toHaveLength(12);
    const replay = await duplicate(campaignId, id, headers);
    expect([replay.status, replay.body.data.name]).toEqual([201, 'B (copy 11)']);
  });

  it('cuts the longest name by characters', async () => {
    const campaignId = await campaign();
    const { id } = await creative(campaignId, { name: '👋'.repeat(127) });
    expect((await duplicate(campaignId, id)).body.data.name).toBe(`${'👋'.repeat(127)} (copy)`);
  });

  it('is refused outside the campaign and in a closed one, but allowed for an archived creative', async () => {
    const [one, other] = [await campaign(), await campaign()];
    const { id } = await creative(one, { name: 'C' });
    expect(refusalOf(await duplicate(other, id))).toEqual(notFound());
    expect(refusalOf(await duplicate(one, `cre_${'0'.repeat(32)}`))).toEqual(notFound());
    await api().delete(`/advertisers/${advertiserId}/creatives/${id}`);
    expect((await duplicate(one, id)).body.data).toMatchObject({ name: 'C (copy)', state: 'draft' });
    await api().delete(`/campaigns/${one}`);
    expect(refusalOf(await duplicate(one, id))).toEqual(conflict());
  });
});

describe('attach, detach, promote, archive', () => {
  const library = (body: object) =>
    api().post<CreativeResource>(`/advertisers/${advertiserId}/creatives/create`, { ...tag, ...body });
  const attach = (id: string, campaignId: string) =>
    api().post<CreativeResource>(`/advertisers/${advertiserId}/creatives/${id}/campaigns`, { campaignId });

  it('a library creative is attached to campaigns and detached again', async () => {
    const [one, two] = [await campaign('One'), await campaign('Two')];
    const { id } = (await library({ name: 'Shelf', role: 'reference' })).body.data;
    expect((await get(one, id)).status).toBe(404);
    expect((await attach(id, one)).body.data.revision).toBe(2);
    expect((await attach(id, one)).body.data.revision).toBe(2);
    await attach(id, two);
    await api().post(`/campaigns/${two}/execute`);
    await api().put(`/campaigns/${one}`, { name: 'Renamed' });
    expect((await detail(id)).campaigns).toEqual([
      { campaignId: one, name: 'Renamed', phase: 'draft' },
      { campaignId: two, name: 'Two', phase: 'active' },
    ]);
    const gained = await create(one, { name: 'Shelf' });
    expect(refusalOf(gained)).toEqual(conflict('name'));
    expect((await api().delete(`/advertisers/${advertiserId}/creatives/${id}/campaigns/${one}`)).status).toBe(
      204,
    );
    expect((await create(one, { name: 'Shelf' })).status).toBe(201);
    expect(refusalOf(await attach(id, one))).toEqual(conflict('name'));
    expect(
      refusalOf(await api().delete(`/advertisers/${advertiserId}/creatives/${id}/campaigns/${one}`)),
    ).toEqual(notFound());
    expect((await api().delete(`/campaigns/${two}/creatives/${id}`)).status).toBe(204);
    expect(await detail(id)).toMatchObject({ state: 'ready', campaigns: [] });
  });

  it('a creative that leaves its last campaign is archived, unless it was created in the library', async () => {
    const campaignId = await campaign();
    const { id } = await creative(campaignId, { name: 'Last' });
    expect((await api().delete(`/campaigns/${campaignId}/creatives/${id}`)).status).toBe(204);
    expect((await get(campaignId, id)).status).toBe(404);
    expect(await detail(id)).toMatchObject({ state: 'archived', campaigns: [] });
    expect(refusalOf(await attach(id, campaignId))).toEqual(conflict());
    expect(await namesIn(campaignId)).toEqual([]);
  });

  it('attaching is refused for campaigns of other advertisers', async () => {
    const other = await campaign('Other', await advertiser());
    const { id } = (await library({ name: 'Mine' })).body.data;
    expect(refusalOf(await attach(id, other))).toEqual(notFound('campaignId'));
    expect(refusalOf(await attach(id, 'cmp_none'))).toEqual(notFound('campaignId'));
  });

  it('promote sets the role of every given creative, or of none', async () => {
    const campaignId = await campaign();
    const save = (creativeIds: string[]) =>
      api().post<CreativeResource[]>(`/advertisers/${advertiserId}/creatives/save-to-library`, {
        creativeIds,
        role: 'evergreen',
      });
    const ids = [await creative(campaignId, { name: 'P1' }), await creative(campaignId, { name: 'P2' })].map(
      ({ id }) => id,
    );
    expect(refusalOf(await save([...ids, 'cre_none']))).toEqual(notFound('creativeIds.2'));
    expect((await get(campaignId, ids[0] ?? '')).body.data.promoted).toBe(false);
    const saved = (await save(ids)).body.data;
    expect(saved.map(({ id, role, promoted, revision }) => [id, role, promoted, revision])).toEqual(
      ids.map((id) => [id, 'evergreen', true, 2]),
    );
    expect((await save(ids)).body.data).toEqual(saved);
  });

  it('archive ends changes and frees the names; the creative stays readable', async () => {
    const campaignId = await campaign();
    const { id } = await creative(campaignId, { name: 'Gone' });
    for (let round = 0; round < 2; round += 1) {
      expect((await api().delete(`/advertisers/${advertiserId}/creatives/${id}`)).status).toBe(204);
    }
    expect((await get(campaignId, id)).body.data).toMatchObject({ state: 'archived', revision: 2 });
    expect(refusalOf(await put(campaignId, id, { name: 'x' }))).toEqual(conflict());
    expect(await namesIn(campaignId)).toEqual([]);
    expect((await create(campaignId, { name: 'Gone' })).status).toBe(201);
  });

  it('a creative of another advertiser is 404', async () => {
    const { id } = (await library({ name: 'Mine' })).body.data;
    const other = await advertiser();
    expect((await api().delete(`/advertisers/${other}/creatives/${id}`)).status).toBe(404);
  });
});

describe('assets', () => {
  it('stay in the library while a creative uses them', async () => {
    const bytes = png(300, 250);
    const media = { name: 'Hero', mimeType: 'image/png' };
    const { assetId } = await upload(api(), advertiserId, media, bytes);
    const campaignId = await campaign();
    const body = {
      formatKind: 'image',
      slots: [{ slotId: 'main', kind: 'asset', assetId }],
      carouselCards: [{ assetId, headline: 'Card' }],
    };
    const made = await creative(campaignId, body);
    expect(made.state).toBe('ready');
    const shown = await detail(made.id);
    const url = shown.preview?.url ?? '';
    const specLine = `300x250 - PNG - ${bytes.length < 1_024 ? `${bytes.length} B` : `${Math.round(bytes.length / 1_024)} KB`}`;
    expect(shown).toMatchObject({
      specLine,
      preview: {
        kind: 'image',
        width: 300,
        height: 250,
        copy: [{ slot: 'tag', value: '<script></script>' }],
      },
      assets: [{ assetId, slot: 'main', name: 'Hero', mediaKind: 'image', thumbnailUrl: url, specLine }],
      carouselCards: [{ assetId, headline: 'Card', imageUrl: url, imageName: 'Hero' }],
    });
    expect((await fetch(url)).status).toBe(200);
    const asset = `/advertisers/${advertiserId}/assets/${assetId}`;
    expect(refusalOf(await api().delete(asset))).toEqual(conflict());
    // The read model leaves the creative out; its stream contains the reason.
    const stream = creativeStream(account.customerId, creativeIdOf(made.id) ?? '');
    await service.pool.query('delete from creative_assets where customer_id = $1', [account.customerId]);
    await service.pool.query(
      `insert into parked_streams (projection, stream, customer_id, position, revision, event_type, error, attempts)
       values ('creatives', $1, $2, '-', 1, 'CreativeUpdated', 'a test', 1)`,
      [stream, account.customerId],
    );
    expect(refusalOf(await api().delete(asset))).toEqual(conflict());
    await service.pool.query('delete from parked_streams');
    await api().delete(`/advertisers/${advertiserId}/creatives/${made.id}`);
    expect((await api().delete(asset)).status).toBe(204);
    expect(await detail(made.id)).toMatchObject({
      assets: [],
      carouselCards: [{ assetId, headline: 'Card' }],
    });
    expect(refusalOf(await create(campaignId, body))).toEqual(notFound('slots.0.assetId'));
  });

  it('must belong to the same advertiser and account, and be uploaded', async () => {
    const media = { name: 'Hero', mimeType: 'image/png' };
    const elsewhere = await upload(api(), await advertiser(), media, png(2, 2));
    const stranger = await service.openAccount('Stranger');
    const theirs = (await stranger.api.post<AdvertiserResource>('/advertisers', { name: 'B' })).body.data.id;
    const foreign = await upload(stranger.api, theirs, media, png(2, 2));
    const reserved = (await reserve(api(), advertiserId, media)).body.data;
    const campaignId = await campaign();
    for (const { assetId } of [elsewhere, foreign, reserved]) {
      const slots = [{ slotId: 'main', kind: 'asset', assetId }];
      expect(refusalOf(await create(campaignId, { slots }))).toEqual(notFound('slots.0.assetId'));
    }
  });
});

describe('lists', () => {
  it('filter the library, from both ends, without archived creatives', async () => {
    const owner = await advertiser();
    const path = `/advertisers/${owner}/creatives`;
    const all: CreativeResource[] = [];
    const sources = ['uploaded', 'generated', 'connected'] as const;
    for (let n = 0; n < 9; n += 1) {
      const body = {
        name: `L ${n}`,
        formatKind: n % 2 === 0 ? 'image' : 'custom',
        source: sources[n % 3],
        ...(n % 4 === 0 ? { role: n === 0 ? 'reference' : 'evergreen' } : {}),
      };
      all.unshift((await api().post<CreativeResource>(`${path}/create`, body)).body.data);
    }
    await api().delete(`${path}/${all.pop()?.id}`);
    const sourceOf = (one: CreativeResource) => sources[Number(one.name.slice(2)) % 3];
    const filters: readonly [string, (one: CreativeResource) => boolean][] = [
      ['', () => true],
      ['role=evergreen', ({ role }) => role === 'evergreen'],
      ['role=reference', ({ role }) => role === 'reference'],
      ['promoted=true', ({ promoted }) => promoted],
      ['promoted=false', ({ promoted }) => !promoted],
      ['source=generated', (one) => sourceOf(one) === 'generated'],
      ['formatKind=custom', ({ formatKind }) => formatKind === 'custom'],
      [
        'formatKind=image&source=uploaded&promoted=false',
        (one) => one.formatKind === 'image' && sourceOf(one) === 'uploaded' && !one.promoted,
      ],
      ['search=l%203', ({ name }) => name === 'L 3'],
    ];
    for (const [query, fits] of filters) {
      const wanted = all.filter(fits);
      for (const skip of [0, 1, Math.max(0, wanted.length - 1)]) {
        const { data, meta } = (await api().get<CreativeResource[]>(`${path}?take=2&skip=${skip}&${query}`))
          .body;
        expect({ query, data, total: meta.pagination.total }).toEqual({
          query,
          data: wanted.slice(skip, skip + 2),
          total: wanted.length,
        });
      }
    }
  });

  it("filter a campaign's creatives by name", async () => {
    const campaignId = await campaign();
    for (const name of ['Alpha', 'Beta', 'alphabet']) await creative(campaignId, { name });
    const page = async (query: string) =>
      (await api().get<CreativeResource[]>(`/campaigns/${campaignId}/creatives?${query}`)).body;
    const { data, meta } = await page('search=ALPHA&take=1');
    expect([data.map(({ name }) => name), meta.pagination]).toEqual([
      ['alphabet'],
      { skip: 0, take: 1, total: 2, hasMore: true },
    ]);
    expect((await page('skip=2')).data.map(({ name }) => name)).toEqual(['Alpha']);
    // Also by a name of the maximum length.
    const { name: long } = await creative(campaignId, { name: 'x'.repeat(255) });
    expect((await page(`search=${long}`)).data.map(({ name }) => name)).toEqual([long]);
    expect((await api().get(`/campaigns/cmp_${'0'.repeat(32)}/creatives`)).status).toBe(404);
    expect((await api().get('/advertisers/2147483647/creatives')).status).toBe(404);
    expect((await api().get(`/creatives/cre_${'0'.repeat(32)}/detail`)).status).toBe(404);
  });
});
