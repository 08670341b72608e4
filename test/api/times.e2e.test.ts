import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { refusalOf, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** Every place accepts the same texts as times and refuses others with the same message (docs/guides/requests.md). */

let service: RunningService;
let account: TestAccount;
let advertiserId: number;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
  advertiserId = (await account.api.post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data.id;
  await account.api.post(`/advertisers/${advertiserId}/event-sources/sync`, {
    account: { account_id: advertiserId },
    event_sources: [{ event_source_id: 'web' }],
  });
});
afterAll(() => service.stop());

const MINUTE_MS = 60_000;
/** In seconds, as `date-time` without a fraction. */
const ahead = (ms: number): string => new Date(Date.now() + ms).toISOString().slice(0, 19);

type SendTime = (time: string) => Promise<ApiAnswer<unknown>>;
const inQuery =
  (path: string): SendTime =>
  (time) =>
    account.api.get(`${path}${encodeURIComponent(time)}`);
const advertiser =
  (path: string): SendTime =>
  (time) =>
    inQuery(`/advertisers/${advertiserId}${path}`)(time);
const campaign = (flight: object): Promise<ApiAnswer<unknown>> =>
  account.api.post('/campaigns', { advertiserId, name: 'Spring', flight });

/** Every place where a client sends a time, except conversion events, which are refused one by one. */
const places: readonly (readonly [field: string, SendTime])[] = [
  ['flight.startAt', (startAt) => campaign({ startAt, endAt: '9000-01-01T00:00:00Z' })],
  ['flight.endAt', (endAt) => campaign({ startAt: '1970-01-01T00:00:00Z', endAt })],
  ['expiresAt', (expiresAt) => account.api.post('/api-keys', { name: 'CI', expiresAt })],
  ['asOf', inQuery('/advertisers?asOf=')],
  ['asOf', advertiser('?asOf=')],
  ['asOf', advertiser('/explain?asOf=')],
  ['from', advertiser('/diff?from=')],
  ['to', advertiser('/diff?from=0&to=')],
  ['startDate', inQuery('/audit-logs?startDate=')],
  ['endDate', inQuery('/audit-logs?endDate=')],
  ['startHour', advertiser('/events/summary?startHour=')],
  ['endHour', advertiser('/events/summary?endHour=')],
];

describe.each(places)('%s', (field, send) => {
  it.each([
    ['in small letters', (at: string) => `${at}z`.replace('T', 't')],
    ['with one digit of a second', (at: string) => `${at}.5Z`],
    ['with forty digits of a second', (at: string) => `${at}.${'5'.repeat(40)}Z`],
    ['with an offset', (at: string) => `${at}-00:00`],
  ])('accepts a time %s', async (_form, write) => {
    const answer = await send(write(ahead(10 * MINUTE_MS)));
    expect([answer.text.slice(0, 300), answer.status < 300]).toEqual([expect.any(String), true]);
  });

  it.each([
    ['2016-12-31T23:59:60Z', 'leap seconds are not supported'],
    ['1969-12-31T23:59:59Z', 'from 1970 to 9999'],
    ['2026-02-30T12:00:00Z', 'RFC 3339'],
    ['2026-01-31 12:00:00Z', 'RFC 3339'],
  ])('refuses %s with the reason', async (time, word) => {
    const answer = await send(time);
    expect(refusalOf(answer)).toEqual([400, 'VALIDATION_ERROR', field]);
    expect(answer.body.error?.message).toContain(word);
  });
});

it('the time of a conversion event is accepted or refused by the same rules', async () => {
  const at = ahead(-MINUTE_MS);
  const times = [
    `${at}z`.replace('T', 't'),
    `${at}.${'5'.repeat(40)}Z`,
    `${at}-00:00`,
    '2016-12-31T23:59:60Z',
  ];
  const events = times.map((eventTime, n) => ({ eventId: String(n), eventTime }));
  expect((await account.api.post('/event-sources/web/events', { events })).body.data).toMatchObject({
    accepted: 3,
    rejected: [{ index: 3, reason: expect.stringContaining('leap seconds are not supported') }],
  });
});
