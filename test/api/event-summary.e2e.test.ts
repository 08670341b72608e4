import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { BatchResult } from '../../domain/conversions/decide-batch.ts';
import { EventType } from '../../domain/event-sources/event-type.ts';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import { notSeen, type EventSourceResource } from '../../domain/event-sources/resource.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { invalid, refusalOf } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** The observed health of event sources, and their events by hour. */

const HOUR_MS = 3_600_000;
const TEST_MS_MAX = 10_000;

let service: RunningService;
let account: TestAccount;
let advertiserId: number;
beforeAll(async () => {
  service = await startRunningService();
});
beforeEach(async () => {
  // Waits for the next hour if this one is about to end: the expected hours would no longer match.
  while (HOUR_MS - (Date.now() % HOUR_MS) < TEST_MS_MAX) await sleep(100);
  account = await service.openAccount();
  advertiserId = (await account.api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data.id;
  await account.api.post(`/advertisers/${advertiserId}/event-sources/sync`, {
    account: { account_id: advertiserId },
    event_sources: [{ event_source_id: 'web' }, { event_source_id: 'app' }],
  });
});
afterAll(() => service.stop());

const hourIso = (hoursAgo: number): string =>
  new Date((Math.floor(Date.now() / HOUR_MS) - hoursAgo) * HOUR_MS).toISOString();
const event = (eventId: string, eventTime: string, eventType = 'purchase') => ({
  eventId,
  eventTime,
  eventType,
});
const log = async (key: string, events: readonly object[]): Promise<void> =>
  expect((await account.api.post(`/event-sources/${key}/events`, { events })).status).toBe(200);

interface Summary {
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly entries: readonly { eventHour: string; eventType: string; eventCount: number }[];
  readonly totalEventCount: number;
}
const summary = async (query = ''): Promise<Summary> =>
  (await account.api.get<Summary>(`/advertisers/${advertiserId}/events/summary${query}`)).body.data;

describe('what arrived', () => {
  interface Receipts {
    readonly entries: readonly {
      readonly hour: string;
      readonly accepted: number;
      readonly rejected: readonly { readonly reason: string; readonly count: number }[];
    }[];
    readonly totalAccepted: number;
    readonly totalRejected: number;
  }
  const received = async (query = ''): Promise<Receipts> =>
    (await account.api.get<Receipts>(`/advertisers/${advertiserId}/events/received${query}`)).body.data;

  it('is counted by hour of receipt, with the reasons of rejection', async () => {
    // Its own hour is long ago: it arrives now.
    await log('web', [event('received', hourIso(50)), event('received', hourIso(50))]);
    await log('app', [event('other', hourIso(1)), event('broken', 'yesterday'), event('broken', 'today')]);
    const { entries, totalAccepted, totalRejected } = await received();
    const rejected = [{ reason: expect.stringMatching(/^eventTime /), count: 2 }];
    expect([entries, totalAccepted, totalRejected]).toEqual([
      [{ hour: hourIso(0), accepted: 2, rejected }],
      2,
      2,
    ]);
    const ofWeb = await received('?eventSourceId=web');
    const ofApp = await received('?eventSourceId=app');
    expect([ofWeb.totalAccepted, ofWeb.totalRejected]).toEqual([1, 0]);
    expect([ofApp.totalAccepted, ofApp.totalRejected]).toEqual([1, 2]);
    expect((await received('?eventSourceId=unknown')).entries).toEqual([]);
  });

  it('refuses a period that is reversed, and an unknown advertiser', async () => {
    const reversed = await account.api.get(
      `/advertisers/${advertiserId}/events/received?startHour=2100-01-01T00:00:00Z&endHour=2000-01-01T00:00:00Z`,
    );
    expect(refusalOf(reversed)).toEqual([400, 'VALIDATION_ERROR', 'startHour']);
    expect((await account.api.get('/advertisers/2147483647/events/received')).status).toBe(404);
  });
});

describe('health', () => {
  it('shows the last event, in the list and in the detail', async () => {
    const at = hourIso(2);
    await log('web', [event('1', hourIso(3), 'lead'), event('2', at)]);
    const expected = {
      status: 'receiving',
      lastEventAt: at,
      lastEventReceivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      lastEventType: 'purchase',
      lastError: null,
      lastErrorAt: null,
    };
    const detail = await account.api.get<EventSourceResource>('/event-sources/web');
    expect(detail.body.data.health).toEqual(expected);
    const list = await account.api.get<{ eventSources: readonly EventSourceResource[] }>(
      `/advertisers/${advertiserId}/event-sources`,
    );
    const healths = new Map(list.body.data.eventSources.map((one) => [one.eventSourceId, one.health]));
    expect([healths.get('web'), healths.get('app')]).toEqual([expected, notSeen]);
  });

  it('reports a batch that was mostly rejected', async () => {
    await log('web', [event('1', hourIso(1)), event('2', 'yesterday'), event('3', 'today')]);
    const { health } = (await account.api.get<EventSourceResource>('/event-sources/web')).body.data;
    expect(health).toMatchObject({ status: 'needs_attention', lastError: expect.any(String) });
  });
});

describe('the summary', () => {
  it("counts the advertiser's events by hour and type", async () => {
    await log('web', [event('1', hourIso(2)), event('2', hourIso(2)), event('3', hourIso(1), 'lead')]);
    await log('app', [event('1', hourIso(2)), event('2', hourIso(30))]);
    expect(await summary()).toEqual({
      periodStart: hourIso(23),
      periodEnd: hourIso(0),
      entries: [
        { eventHour: hourIso(2), eventType: 'purchase', eventCount: 3 },
        { eventHour: hourIso(1), eventType: 'lead', eventCount: 1 },
      ],
      totalEventCount: 4,
    });
    expect((await summary('?eventType=lead')).totalEventCount).toBe(1);
    expect((await summary(`?startHour=${hourIso(30)}&endHour=${hourIso(2)}`)).totalEventCount).toBe(4);
    expect((await summary(`?startHour=${hourIso(30)}`)).totalEventCount).toBe(5);
    expect((await summary(`?startHour=${hourIso(1)}&endHour=${hourIso(1)}`)).entries).toHaveLength(1);
  });

  it('counts each of the 31 event types, and the accepted types of restricted sources', async () => {
    expect(EventType.options).toHaveLength(31);
    expect(EventType.options).toEqual(expect.arrayContaining(['follow', 'content_view', 'watch_milestone']));
    await log(
      'web',
      EventType.options.map((type) => event('1', hourIso(1), type)),
    );
    const counted = (await summary()).entries.map(({ eventType }) => eventType);
    expect(counted).toEqual([...EventType.options].sort());
    expect((await summary('?eventType=watch_milestone')).totalEventCount).toBe(1);
    const path = `/advertisers/${advertiserId}/event-sources`;
    const restricted = { event_source_id: 'tv', event_types: ['follow'] };
    const body = { account: { account_id: advertiserId }, event_sources: [restricted] };
    expect((await account.api.post(`${path}/sync`, body)).status).toBe(200);
    const events = ['follow', 'content_view'].map((type) => event('1', hourIso(1), type));
    const { accepted, rejected } = (
      await account.api.post<BatchResult>('/event-sources/tv/events', { events })
    ).body.data;
    expect([accepted, rejected.map(({ index }) => index)]).toEqual([1, [1]]);
    const { body: shown } = await account.api.get<EventSourceResource>('/event-sources/tv');
    expect([shown.data.eventTypes, shown.data.health.lastEventType]).toEqual([['follow'], 'follow']);
  });

  it('accepts any offset and rounds a time down to its hour', async () => {
    const { periodStart, periodEnd } = await summary(
      '?startHour=2026-01-02T03%3A59%3A59%2B02:00&endHour=2026-01-02T05:00:00Z',
    );
    expect([periodStart, periodEnd]).toEqual(['2026-01-02T01:00:00.000Z', '2026-01-02T05:00:00.000Z']);
  });

  it('accepts the first and the last supported hour', async () => {
    const first = await summary('?endHour=1970-01-01T05:00:00Z');
    const last = await summary('?endHour=9999-12-31T23:59:59Z');
    expect([first.periodStart, first.periodEnd, last.periodEnd]).toEqual([
      '1970-01-01T00:00:00.000Z',
      '1970-01-01T05:00:00.000Z',
      '9999-12-31T23:00:00.000Z',
    ]);
  });

  it('is empty without events', async () => {
    expect(await summary()).toMatchObject({ entries: [], totalEventCount: 0 });
  });

  it.each([
    ['?startHour=yesterday', 'startHour'],
    ['?endHour=2026-01-02', 'endHour'],
    ['?eventType=bought', 'eventType'],
    ['?startHour=2026-01-02T00:00:00Z&endHour=2026-01-01T00:00:00Z', 'startHour'],
    ['?startHour=2026-01-01T00:00:00Z&endHour=2026-02-01T00:00:00Z', 'startHour'],
    ['?startHour=0000-01-01T00:00:00Z&endHour=0000-01-02T00:00:00Z', 'startHour'],
    ['?endHour=0001-01-01T00:00:00Z', 'endHour'],
    ['?endHour=9999-12-31T23:00:00-10:00', 'endHour'],
  ])('refuses %s with 400', async (query, field) => {
    expect(refusalOf(await account.api.get(`/advertisers/${advertiserId}/events/summary${query}`))).toEqual(
      invalid(field),
    );
  });

  it('of an unknown advertiser is 404', async () => {
    expect((await account.api.get('/advertisers/2147483647/events/summary')).status).toBe(404);
  });
});
