import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { conflict, invalid, refusalOf, untilDefinite, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** PUT /api/v2/buyer/advertisers/{id} (specification, endpoint 3). */

let service: RunningService;
let account: TestAccount;
/** A new advertiser for every test, with a value in every member. */
let acme: AdvertiserResource;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
beforeEach(async () => {
  const { body } = await account.api.post<AdvertiserResource>('/advertisers', {
    name: 'Acme',
    description: 'First',
    brand: 'acme.com',
    primaryCurrency: 'EUR',
    brandCountries: ['DE'],
    preferredTimezone: 'Europe/Berlin',
    channels: ['ctv'],
    controls: { exclusions: ['a'], brandSafety: 'strict' },
    utmConfig: [{ paramKey: 'k', paramValue: 'v' }],
    frequencyCaps: [
      { max_impressions: 1, window: { interval: 1 } },
      { max_impressions: 2, window: { interval: 2, unit: 'hours' } },
    ],
    labels: { team: ['x'] },
  });
  acme = body.data;
});
afterAll(() => service.stop());

const update = (members: unknown): Promise<ApiAnswer<AdvertiserResource>> =>
  account.api.put(`/advertisers/${acme.id}`, members);
const read = async (): Promise<AdvertiserResource> =>
  (await account.api.get<AdvertiserResource>(`/advertisers/${acme.id}`)).body.data;
const history = async (): Promise<readonly string[]> =>
  (await service.eventsOf(`advertiser-${account.customerId}-${acme.id}`)).map(({ type }) => type);
/** Appends an event that no route of this version appends. */
const append = (type: string): Promise<unknown> =>
  service.store.append(
    `advertiser-${account.customerId}-${acme.id}`,
    [
      {
        id: randomUUID(),
        type,
        data: {},
        metadata: {
          customerId: account.customerId,
          actor: 'test',
          requestId: 'test',
          correlationId: 'test',
          causationId: 'test',
          occurredAt: new Date().toISOString(),
          schemaVersion: 1,
        },
      },
    ],
    'any',
  );

describe('an update', () => {
  it.each([
    [{ name: 'New' }],
    [{ description: '' }],
    [{ primaryCurrency: 'GBP' }],
    [{ brandCountries: [] }],
    [{ brandCountries: ['US', 'DE'] }],
    [{ preferredTimezone: 'Asia/Tokyo' }],
    [{ channels: [] }],
    [{ optimizationApplyMode: 'AUTO' }],
    [{ controls: { exclusions: ['b'] } }],
    [{ utmConfig: [] }],
    [{ labels: {} }],
    [{ labels: { other: ['y'] } }],
  ])('changes the given members and keeps the others: %j', async (changes) => {
    const { status, body } = await update(changes);
    expect(status).toBe(200);
    expect(body.data).toEqual({ ...acme, ...changes, updatedAt: expect.any(String) });
    expect(await read()).toEqual(body.data);
    expect(await history()).toEqual(['AdvertiserCreated', 'AdvertiserUpdated']);
  });

  it('of the brand changes its domain and its link together', async () => {
    const { body } = await update({ brand: 'https://www.other.example' });
    expect(body.data).toMatchObject({
      brandDomain: 'other.example',
      linkedBrand: { domain: 'other.example', name: 'other.example' },
    });
  });

  it('of one member of autonomy keeps the other', async () => {
    await update({ autonomy: { rebriefing: 'auto' } });
    const { body } = await update({ autonomy: { inventorySelection: 'auto' } });
    expect(body.data.autonomy).toEqual({ inventorySelection: 'auto', rebriefing: 'auto' });
  });

  it('with null removes description and preferredTimezone', async () => {
    const { description: _, preferredTimezone: __, ...rest } = acme;
    const { body } = await update({ description: null, preferredTimezone: null });
    expect(body.data).toEqual({ ...rest, updatedAt: expect.any(String) });
    expect(await read()).toEqual(body.data);
  });

  it.each(
    'name primaryCurrency brand brandDomain brandCountries channels optimizationApplyMode autonomy controls utmConfig frequencyCaps labels'.split(
      ' ',
    ),
  )('refuses null for %s with 400', async (member) => {
    expect(refusalOf(await update({ [member]: null }))).toEqual(invalid(member));
  });

  it.each([
    [{ name: '' }, 'name'],
    [{ name: '😀'.repeat(201) }, 'name'],
    [{ description: 'a'.repeat(2_001) }, 'description'],
    [{ primaryCurrency: 'usd' }, 'primaryCurrency'],
    [{ brandCountries: ['USA'] }, 'brandCountries.0'],
    [{ preferredTimezone: 'Nowhere/City' }, 'preferredTimezone'],
    [{ channels: ['ctv', 'tv'] }, 'channels.1'],
    [{ optimizationApplyMode: 'SOMETIMES' }, 'optimizationApplyMode'],
    [{ frequencyCaps: [{ max_impressions: 1, window: { interval: 0 } }] }, 'frequencyCaps.0.window.interval'],
  ])('refuses an invalid value with 400 and the field (%#)', async (changes, field) => {
    expect(refusalOf(await update({ name: 'Other', ...changes }))).toEqual(invalid(field));
    expect(await read()).toEqual(acme);
  });

  it.each([
    ['no body', undefined],
    ['an empty object', {}],
    ['only unknown members', { includeBrand: true }],
    ['the current values', { name: 'Acme', channels: ['ctv', 'ctv'], brand: 'www.acme.com' }],
    [
      'the caps there are',
      {
        frequencyCaps: [
          { max_impressions: 1, window: { interval: 1, unit: 'minutes' } },
          { max_impressions: 2, window: { interval: 2, unit: 'hours' } },
        ],
      },
    ],
  ])('with %s is 200 and appends no event', async (_what, changes) => {
    const answer = await update(changes);
    expect([answer.status, answer.body.data]).toEqual([200, acme]);
    expect(await history()).toEqual(['AdvertiserCreated']);
  });

  it('with the resource as it was read is 200 and appends no event', async () => {
    const answer = await update(acme);
    expect([answer.status, answer.body.data]).toEqual([200, acme]);
    expect(await history()).toEqual(['AdvertiserCreated']);
  });
});

describe('frequencyCaps', () => {
  it('replaces the set; a cap that stays keeps its id and createdAt', async () => {
    const [first] = acme.frequencyCaps;
    const { body } = await update({
      frequencyCaps: [
        { max_impressions: 5, window: { interval: 5 } },
        { max_impressions: 1, window: { interval: 1 } },
      ],
    });
    const [added, kept] = body.data.frequencyCaps;
    expect(kept).toEqual(first);
    expect(added).toMatchObject({ max_impressions: 5, window: { interval: 5, unit: 'minutes' } });
    expect(acme.frequencyCaps.map(({ id }) => id)).not.toContain(added?.id);
    expect(await read()).toEqual(body.data);
  });

  it('with [] removes all caps', async () => {
    expect((await update({ frequencyCaps: [] })).body.data.frequencyCaps).toEqual([]);
    expect((await read()).frequencyCaps).toEqual([]);
  });

  it('treats a cap with another unit as a new cap', async () => {
    const { body } = await update({
      frequencyCaps: [{ max_impressions: 1, window: { interval: 1, unit: 'days' } }],
    });
    expect(body.data.frequencyCaps[0]?.id).not.toBe(acme.frequencyCaps[0]?.id);
  });

  it('ignores ids from the client', async () => {
    const { body } = await update({
      frequencyCaps: [{ id: 'mine', max_impressions: 1, window: { interval: 1 } }],
    });
    expect(body.data.frequencyCaps.map(({ id }) => id)).toEqual([acme.frequencyCaps[0]?.id]);
  });
});

describe('a member that cannot change', () => {
  it.each([
    ['id', 1_999_999_999],
    ['customerId', 1_999_999_999],
    ['status', 'ARCHIVED'],
    ['sandbox', true],
  ])('%s: refuses another value', async (member, value) => {
    expect(refusalOf(await update({ name: 'Other', [member]: value }))).toEqual(invalid(member));
    expect(await read()).toEqual(acme);
  });

  it('is ignored if it is derived from others', async () => {
    const { body } = await update({
      linkedBrand: { domain: 'evil.example', name: 'Evil' },
      currencyLocked: true,
      createdAt: '2000-01-01T00:00:00.000Z',
      updatedAt: '2000-01-01T00:00:00.000Z',
    });
    expect(body.data).toEqual(acme);
  });

  it('primaryCurrency, once locked: another value is 409, the current one is accepted', async () => {
    await append('AdvertiserCurrencyLocked');
    expect((await read()).currencyLocked).toBe(true);
    expect(refusalOf(await update({ name: 'Other', primaryCurrency: 'USD' }))).toEqual(
      conflict('primaryCurrency'),
    );
    expect(await read()).toMatchObject({ name: 'Acme', primaryCurrency: 'EUR' });
    expect((await update({ name: 'Other', primaryCurrency: 'EUR' })).body.data.name).toBe('Other');
  });

  it('of an archived advertiser: any update is 409', async () => {
    await account.api.delete(`/advertisers/${acme.id}`);
    expect(refusalOf(await update({ name: 'Other' }))).toEqual(conflict());
    expect(refusalOf(await update({}))).toEqual(conflict());
    expect((await read()).name).toBe('Acme');
  });
});

describe('concurrent updates', () => {
  it('of different members all take effect', async () => {
    const labels = Array.from({ length: 10 }, (_, n) => ({ labels: { [`d${n}`]: ['v'] } }));
    const others = [
      { name: 'New' },
      { description: 'New' },
      { primaryCurrency: 'GBP' },
      { brandCountries: ['FR'] },
      { preferredTimezone: 'Asia/Tokyo' },
      { channels: ['radio'] },
      { optimizationApplyMode: 'AUTO' },
      { controls: { exclusions: ['z'] } },
      { utmConfig: [{ paramKey: 'n', paramValue: 'n' }] },
      { brand: 'new.example' },
    ];
    const answers = await Promise.all([...others, ...labels].map(update));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    const { brand, ...members } = Object.assign({}, ...others) as Record<string, unknown>;
    const after = await read();
    expect(after).toMatchObject({ ...members, brandDomain: brand });
    expect(labels.map((label) => label.labels)).toContainEqual(after.labels);
    expect(await history()).toHaveLength(21);
  });

  it('of one member by 100 writers each take effect once and answer with their own value', async () => {
    const names = Array.from({ length: 100 }, (_, n) => `Name ${n}`);
    const answers = await Promise.all(
      names.map((name) => {
        const key = { 'Idempotency-Key': randomUUID() };
        return untilDefinite(() =>
          account.api.put<AdvertiserResource>(`/advertisers/${acme.id}`, { name }, key),
        );
      }),
    );
    expect(answers.map(({ body }) => body.data?.name)).toEqual(names);
    expect(await history()).toHaveLength(101);
  }, 120_000);
});
