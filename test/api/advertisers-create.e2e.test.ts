import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { invalid, refusalOf, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** POST /api/v2/buyer/advertisers (specification, endpoint 2). */

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const create = (members: object): Promise<ApiAnswer<AdvertiserResource>> =>
  account.api.post('/advertisers', { name: 'Acme', ...members });
/** Creates an advertiser and asserts that a read returns the same as the answer. */
const created = async (members: object): Promise<AdvertiserResource> => {
  const answer = await create(members);
  expect([answer.status, answer.body.error]).toEqual([201, null]);
  expect((await account.api.get(`/advertisers/${answer.body.data.id}`)).body.data).toEqual(answer.body.data);
  return answer.body.data;
};

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('an advertiser', () => {
  it('needs only a name; the other members have defaults', async () => {
    const before = new Date().toISOString();
    const advertiser = await created({});
    expect(advertiser).toEqual({
      id: expect.any(Number),
      customerId: account.customerId,
      name: 'Acme',
      status: 'ACTIVE',
      sandbox: false,
      primaryCurrency: 'USD',
      currencyLocked: false,
      brandCountries: [],
      channels: [],
      optimizationApplyMode: 'MANUAL',
      autonomy: { inventorySelection: 'manual', rebriefing: 'manual' },
      controls: { exclusions: [] },
      utmConfig: [],
      frequencyCaps: [],
      labels: {},
      createdAt: expect.stringMatching(TIMESTAMP),
      updatedAt: advertiser.createdAt,
    });
    expect(advertiser.createdAt >= before && advertiser.createdAt <= new Date().toISOString()).toBe(true);
  });

  it('keeps every given member', async () => {
    const given = {
      name: 'Acme Œuvre 😀',
      description: 'Line one\nline two\t"quoted" \\ \u2028',
      primaryCurrency: 'EUR',
      brandCountries: ['DE', 'AT'],
      preferredTimezone: 'Europe/Berlin',
      channels: ['display', 'ctv', 'sponsored_intelligence'],
      sandbox: true,
      optimizationApplyMode: 'AUTO',
      autonomy: { inventorySelection: 'auto', rebriefing: 'assisted' },
      controls: { exclusions: ['gambling'], brandSafety: 'strict', exclusionsListName: 'House list' },
      utmConfig: [{ paramKey: 'utm_source', paramValue: 'exchange' }],
      labels: { region: ['north', 'south'], team: [] },
    };
    expect(await created(given)).toMatchObject(given);
  });

  it('is recorded as one event, with its actor and request', async () => {
    const { id } = await created({ name: 'Recorded' });
    const events = await service.eventsOf(`advertiser-${account.customerId}-${id}`);
    expect(events).toMatchObject([
      {
        type: 'AdvertiserCreated',
        revision: 0,
        data: { name: 'Recorded' },
        metadata: {
          customerId: account.customerId,
          actor: `api-key:${account.apiKey.split('_')[1]}`,
          schemaVersion: 1,
        },
      },
    ]);
    expect(JSON.stringify(events)).not.toContain(account.apiKey.slice(-20));
  });

  it('may have the name of another; ids are unique', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await created({})).id));
    expect(new Set(ids).size).toBe(20);
  });

  it('completes a partial autonomy with defaults', async () => {
    expect((await created({ autonomy: { rebriefing: 'auto' } })).autonomy).toEqual({
      inventorySelection: 'manual',
      rebriefing: 'auto',
    });
  });
});

describe('name and description', () => {
  it.each([
    ['name', 'one character', 'a'],
    ['name', 'a space: nothing is trimmed', ' '],
    ['name', '200 characters', 'a'.repeat(200)],
    ['name', '200 emoji', '😀'.repeat(200)],
    ['name', '100 letters and their accents', 'e\u0301'.repeat(100)],
    ['description', 'no character', ''],
    ['description', '2,000 characters', 'a'.repeat(2_000)],
    ['description', '2,000 emoji', '😀'.repeat(2_000)],
  ])('accepts for %s: %s', async (member, _what, value) => {
    expect(await created({ [member]: value })).toMatchObject({ [member]: value });
  });

  it.each([
    ['name', 'no character', ''],
    ['name', '201 characters', 'a'.repeat(201)],
    ['name', '201 emoji', '😀'.repeat(201)],
    ['name', '100 letters, their accents and one more', `${'e\u0301'.repeat(100)}.`],
    ['description', '2,001 characters', 'a'.repeat(2_001)],
    ['description', '2,001 emoji', '😀'.repeat(2_001)],
  ])('refuses for %s with 400 and the field: %s', async (member, _what, value) => {
    expect(refusalOf(await create({ [member]: value }))).toEqual(invalid(member));
  });

  it('refuses a request without a name with 400 and field name', async () => {
    expect(refusalOf(await account.api.post('/advertisers', {}))).toEqual(invalid('name'));
    expect(refusalOf(await account.api.post('/advertisers'))).toEqual(invalid('name'));
  });
});

describe('codes and lists', () => {
  it.each([
    ['primaryCurrency', 'XTS'],
    ['brandCountries', ['ZZ']],
    ['preferredTimezone', 'UTC'],
    ['preferredTimezone', 'America/Argentina/Buenos_Aires'],
    ['preferredTimezone', 'Etc/GMT+5'],
    ['optimizationApplyMode', 'MANUAL'],
  ])('accepts for %s: %j', async (member, value) => {
    expect(await created({ [member]: value })).toMatchObject({ [member]: value });
  });

  it.each([
    ['primaryCurrency', 'usd', 'primaryCurrency'],
    ['primaryCurrency', 'US', 'primaryCurrency'],
    ['primaryCurrency', 'USDT', 'primaryCurrency'],
    ['primaryCurrency', 'ÜSD', 'primaryCurrency'],
    ['primaryCurrency', 'USD\n', 'primaryCurrency'],
    ['primaryCurrency', 840, 'primaryCurrency'],
    ['brandCountries', 'DE', 'brandCountries'],
    ['brandCountries', ['DE', 'de'], 'brandCountries.1'],
    ['brandCountries', ['DEU'], 'brandCountries.0'],
    ['preferredTimezone', 'Mars/Olympus', 'preferredTimezone'],
    ['preferredTimezone', '+02:00', 'preferredTimezone'],
    ['preferredTimezone', '', 'preferredTimezone'],
    ['channels', ['tv'], 'channels.0'],
    ['channels', ['display', 'CTV'], 'channels.1'],
    ['channels', { 0: 'ctv' }, 'channels'],
    ['optimizationApplyMode', 'auto', 'optimizationApplyMode'],
    ['sandbox', 'true', 'sandbox'],
    ['sandbox', 1, 'sandbox'],
  ])('refuses for %s with 400 and the field: %j', async (member, value, field) => {
    expect(refusalOf(await create({ [member]: value }))).toEqual(invalid(field));
  });

  it('accepts every channel', async () => {
    const channels =
      'display olv social search ctv linear_tv radio streaming_audio podcast dooh ooh print cinema email gaming retail_media influencer affiliate product_placement sponsored_intelligence'.split(
        ' ',
      );
    expect((await created({ channels })).channels).toEqual(channels);
  });

  it('removes duplicates and keeps the order', async () => {
    const cap = (interval: number) => ({ max_impressions: 1, window: { interval } });
    const utm = (paramKey: string) => ({ paramKey, paramValue: 'v' });
    const advertiser = await created({
      channels: ['ctv', 'display', 'ctv'],
      brandCountries: ['US', 'DE', 'US', 'DE'],
      utmConfig: [utm('a'), utm('b'), utm('a')],
      frequencyCaps: [cap(1), cap(2), cap(1)],
      labels: { team: ['x', 'y', 'x'] },
      controls: { exclusions: ['a', 'b', 'a'] },
    });
    expect(advertiser).toMatchObject({
      channels: ['ctv', 'display'],
      brandCountries: ['US', 'DE'],
      utmConfig: [utm('a'), utm('b')],
      frequencyCaps: [{ window: { interval: 1 } }, { window: { interval: 2 } }],
      labels: { team: ['x', 'y'] },
      controls: { exclusions: ['a', 'b'] },
    });
    expect(advertiser.frequencyCaps).toHaveLength(2);
  });
});
