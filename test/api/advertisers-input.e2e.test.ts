import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { invalid, refusalOf, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Nested members of an advertiser, and members that clients cannot set. */

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const create = (members: object): Promise<ApiAnswer<AdvertiserResource>> =>
  account.api.post('/advertisers', { name: 'Acme', ...members });

describe('brand', () => {
  it.each([
    ['acme.com', 'acme.com'],
    ['ACME.com', 'acme.com'],
    ['www.acme.com', 'acme.com'],
    ['https://www.acme.co.uk/about?x=1#y', 'acme.co.uk'],
    ['http://acme.com:8080/', 'acme.com'],
    ['acme.com.', 'acme.com'],
    ['münchen.de', 'xn--mnchen-3ya.de'],
    ['shop.www.acme.com', 'shop.www.acme.com'],
  ])('links %s to the domain %s', async (brand, domain) => {
    const { status, body } = await create({ brand });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ brandDomain: domain, linkedBrand: { domain, name: domain } });
  });

  it.each([
    '',
    ' ',
    'acme',
    'localhost',
    '127.0.0.1',
    'https://[::1]/',
    '0x7f.1',
    'ftp://acme.com',
    'javascript:alert(1)',
    'https://user:secret@acme.com',
    'acme com',
    '-acme.com',
    `${'a'.repeat(64)}.com`,
    `${'a.'.repeat(200)}com`,
    7,
    ['acme.com'],
    'https:example.com',
  ])('refuses %j, which is not a host', async (brand) => {
    expect(refusalOf(await create({ brand }))).toEqual(invalid('brand'));
    expect(refusalOf(await create({ brandDomain: brand }))).toEqual(invalid('brandDomain'));
  });

  it('accepts brandDomain as well, and refuses two different domains', async () => {
    expect((await create({ brandDomain: 'www.acme.com' })).body.data.brandDomain).toBe('acme.com');
    expect((await create({ brand: 'https://acme.com', brandDomain: 'www.acme.com' })).status).toBe(201);
    expect(refusalOf(await create({ brand: 'a.com', brandDomain: 'b.com' }))).toEqual(invalid('brandDomain'));
  });
});

describe('frequencyCaps', () => {
  const cap = (max_impressions: unknown, window: unknown) => ({
    frequencyCaps: [{ max_impressions, window }],
  });

  it('belong to the advertiser; the default unit is minutes', async () => {
    const { data } = (await create(cap(3, { interval: 60 }))).body;
    expect(data.frequencyCaps).toEqual([
      {
        id: expect.any(String),
        targetLevel: 'ADVERTISER',
        targetId: String(data.id),
        max_impressions: 3,
        window: { interval: 60, unit: 'minutes' },
        createdAt: data.createdAt,
        updatedAt: data.createdAt,
      },
    ]);
  });

  it.each(['seconds', 'minutes', 'hours', 'days', 'campaign'])('accept the unit %s', async (unit) => {
    const { data } = (await create(cap(2_147_483_647, { interval: 2_147_483_647, unit }))).body;
    expect(data.frequencyCaps[0]?.window).toEqual({ interval: 2_147_483_647, unit });
  });

  it.each([
    [cap(0, { interval: 1 }), 'frequencyCaps.0.max_impressions'],
    [cap(1.5, { interval: 1 }), 'frequencyCaps.0.max_impressions'],
    [cap(2_147_483_648, { interval: 1 }), 'frequencyCaps.0.max_impressions'],
    [cap('1', { interval: 1 }), 'frequencyCaps.0.max_impressions'],
    [cap(undefined, { interval: 1 }), 'frequencyCaps.0.max_impressions'],
    [cap(1, { interval: 0 }), 'frequencyCaps.0.window.interval'],
    [cap(1, { interval: -1 }), 'frequencyCaps.0.window.interval'],
    [cap(1, {}), 'frequencyCaps.0.window.interval'],
    [cap(1, undefined), 'frequencyCaps.0.window'],
    [cap(1, { interval: 1, unit: 'weeks' }), 'frequencyCaps.0.window.unit'],
    [{ frequencyCaps: {} }, 'frequencyCaps'],
    [
      { frequencyCaps: Array.from({ length: 101 }, (_, n) => cap(n + 1, { interval: 1 }).frequencyCaps[0]) },
      'frequencyCaps',
    ],
  ])('refuse invalid caps with 400 and the field (%#)', async (members, field) => {
    expect(refusalOf(await create(members))).toEqual(invalid(field));
  });
});

describe('utmConfig, labels, controls', () => {
  const utm = (paramKey: string, paramValue: string) => ({ utmConfig: [{ paramKey, paramValue }] });
  const many = (count: number) => Array.from({ length: count }, (_, n) => n);

  it.each([
    ['the longest utm parameter', utm('utm_Campaign-9'.padEnd(100, 'x'), '😀'.repeat(200))],
    ['20 utm parameters', { utmConfig: many(20).flatMap((n) => utm(`k${n}`, 'v').utmConfig) }],
    ['labels with names of objects', { labels: { toString: ['a'], hasOwnProperty: ['b'] } }],
    ['the longest label', { labels: { ['d'.repeat(100)]: ['v'.repeat(200)] } }],
    ['50 label dimensions', { labels: Object.fromEntries(many(50).map((n) => [`d${n}`, []])) }],
  ])('accept %s', async (_what, members) => {
    const { status, body } = await create(members);
    expect(status).toBe(201);
    expect(body.data).toMatchObject(members);
  });

  it.each([
    ['an empty utm key', utm('', 'v'), 'utmConfig.0.paramKey'],
    ['a utm key with a space', utm('a b', 'v'), 'utmConfig.0.paramKey'],
    ['a utm key of 101 characters', utm('k'.repeat(101), 'v'), 'utmConfig.0.paramKey'],
    ['an empty utm value', utm('k', ''), 'utmConfig.0.paramValue'],
    ['a utm value of 201 characters', utm('k', 'v'.repeat(201)), 'utmConfig.0.paramValue'],
    [
      'a utm key with two values',
      { utmConfig: ['a', 'b', 'a', 'b'].map((key, n) => ({ paramKey: key, paramValue: n < 3 ? 'v' : 'w' })) },
      'utmConfig.3.paramKey',
    ],
    ['21 utm parameters', { utmConfig: many(21).flatMap((n) => utm(`k${n}`, 'v').utmConfig) }, 'utmConfig'],
    ['a label that is not a list', { labels: { team: 'x' } }, 'labels.team'],
    ['a label value that is not a string', { labels: { team: [1] } }, 'labels.team.0'],
    ['51 label dimensions', { labels: Object.fromEntries(many(51).map((n) => [`d${n}`, []])) }, 'labels'],
    [
      'labels of over 32 Ki characters',
      { labels: { a: many(100).map((n) => `${n}`.padEnd(200, '"')) } },
      'labels',
    ],
    [
      'exclusions of over 128 Ki characters',
      { controls: { exclusions: many(300).map((n) => `${n}`.padEnd(500, 'x')) } },
      'controls.exclusions',
    ],
    ['labels in a list', { labels: [] }, 'labels'],
    ['an empty exclusion', { controls: { exclusions: [''] } }, 'controls.exclusions.0'],
    ['controls that are text', { controls: 'strict' }, 'controls'],
    ['an autonomy that is not a string', { autonomy: { rebriefing: true } }, 'autonomy.rebriefing'],
  ])('refuse with 400 and the field: %s', async (_what, members, field) => {
    expect(refusalOf(await create(members))).toEqual(invalid(field));
  });
});

describe('members that a client cannot set', () => {
  const membersOfAnAdvertiser = [
    'name description brand brandDomain primaryCurrency brandCountries preferredTimezone channels sandbox',
    'optimizationApplyMode autonomy controls utmConfig frequencyCaps labels',
  ].flatMap((names) => names.split(' '));

  it.each(membersOfAnAdvertiser)('refuses null for %s', async (member) => {
    expect(refusalOf(await create({ [member]: null }))).toEqual(invalid(member));
  });

  it('ignores unknown members at every level', async () => {
    const answer = await create({
      includeBrand: true,
      isAdmin: true,
      frequencyCaps: [{ max_impressions: 1, window: { interval: 1, extra: 1 }, extra: 1 }],
      controls: { exclusions: [], extra: 1 },
      autonomy: { extra: 1 },
      utmConfig: [{ paramKey: 'k', paramValue: 'v', extra: 1 }],
    });
    expect(answer.status).toBe(201);
    expect(answer.text).not.toMatch(/extra|includeBrand|isAdmin/);
  });

  it('ignores members that the service sets', async () => {
    const other = await service.openAccount();
    const answer = await create({
      id: 1,
      customerId: other.customerId,
      status: 'ARCHIVED',
      currencyLocked: true,
      linkedBrand: { domain: 'evil.example', name: 'Evil' },
      createdAt: '2000-01-01T00:00:00.000Z',
      updatedAt: '2000-01-01T00:00:00.000Z',
      frequencyCaps: [
        {
          max_impressions: 1,
          window: { interval: 1 },
          id: 'mine',
          targetLevel: 'CREATIVE',
          targetId: '1',
          createdAt: '2000-01-01T00:00:00.000Z',
          archivedAt: '2000-01-01T00:00:00.000Z',
        },
      ],
    });
    expect(answer.body.data).toMatchObject({
      customerId: account.customerId,
      status: 'ACTIVE',
      currencyLocked: false,
      frequencyCaps: [{ targetLevel: 'ADVERTISER', targetId: String(answer.body.data.id) }],
    });
    expect(answer.text).not.toMatch(/linkedBrand|2000-01-01|"mine"|archivedAt/);
    expect((await other.api.get('/advertisers?status=ALL')).body.data).toEqual([]);
  });

  it('ignores headers that name another account', async () => {
    const other = await service.openAccount();
    const { body } = await account.api.post<AdvertiserResource>(
      '/advertisers',
      { name: 'Acme' },
      { 'X-Customer-Id': String(other.customerId), 'X-User-Id': '1' },
    );
    expect(body.data.customerId).toBe(account.customerId);
  });

  it('lists every issue; field is the first of them', async () => {
    const { body } = await create({ name: '', primaryCurrency: 'x', frequencyCaps: [{ window: {} }] });
    expect(body.error?.field).toBe('name');
    expect(body.error?.details).toEqual({
      issues: [
        'name',
        'primaryCurrency',
        'frequencyCaps.0.max_impressions',
        'frequencyCaps.0.window.interval',
      ].map((path) => ({ path, message: expect.any(String), code: expect.any(String) })),
    });
  });

  it('appends no event for a refused request', async () => {
    const before = await service.store.head();
    await create({ name: '' });
    await create({ channels: ['tv'] });
    expect(await service.store.head()).toBe(before);
  });
});
