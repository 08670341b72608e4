import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLog } from '../../app/log.ts';
import type { NotificationBody } from '../../domain/notifications/body.ts';
import { rebuildOnline } from '../../projections/engine/copy/online-rebuild.ts';
import { notificationsProjection } from '../../projections/notifications.ts';
import { rebuildOptions } from '../support/rebuild-options.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { openStream, type OpenStream } from '../support/sse.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

/** From calls with events to what the feed, receivers of webhooks and streams contain about the health of the source. */

const KIND = 'event_source.health_changed';
/** Is not the same in an address. */
const KEY = 'shop / ü?';

interface Health {
  readonly status: string;
}
type Change = NotificationBody & {
  readonly data: { readonly object?: { readonly eventSourceId: string; readonly health: Health } };
};

describe.each(['postgres', 'eventstoredb'] as const)('with events in %s, a change of health', (events) => {
  let service: RunningService;
  let account: TestAccount;
  let advertiserId: number;
  let receiver: WebhookReceiver;
  let stream: OpenStream;
  let sent = 0;

  beforeAll(async () => {
    service = await startRunningService({ OUTBOUND_ALLOW_LOOPBACK: 'true' }, createLog('silent'), {}, events);
    account = await service.openAccount();
    receiver = await startWebhookReceiver();
    advertiserId = await newAdvertiser();
    stream = await openStream(
      service.baseUrl,
      { Authorization: `Bearer ${account.apiKey}` },
      `?topics=${KIND}`,
    );
    const { api } = account;
    const subscription = { url: receiver.url, eventTypes: ['event_source.*'], payload: 'full' };
    expect((await api.post('/webhook-subscriptions', subscription)).status).toBe(201);
  });
  afterAll(async () => {
    await stream.close();
    await receiver.stop();
    await service.stop();
  });

  const newAdvertiser = async (of = account): Promise<number> => {
    const { id } = (await of.api.post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data;
    await of.api.post(`/advertisers/${id}/event-sources/sync`, {
      account: { account_id: String(id) },
      event_sources: [{ event_source_id: KEY }],
    });
    return id;
  };
  const log = async (
    valid: number,
    invalid: number,
    more: object = {},
    of = account,
    owner = advertiserId,
  ) => {
    const eventTime = new Date().toISOString();
    const items = [
      ...Array.from({ length: valid }, () => ({ eventId: `order-${(sent += 1)}`, eventTime })),
      ...Array.from({ length: invalid }, () => ({ eventId: '' })),
    ];
    const path = `/event-sources/${encodeURIComponent(KEY)}/events`;
    const body = { advertiserId: owner, events: items, ...more };
    const { status, body: answer } = await of.api.post<{ health: string }>(path, body);
    expect(status).toBe(200);
    return answer.data.health;
  };
  const feed = async (of = account): Promise<readonly Change[]> =>
    (await of.api.get<{ events: readonly Change[] }>(`/events?types=${KIND}&take=200`)).body.data.events;

  it('is in the feed when the call is answered; other calls are not', async () => {
    const steps: readonly (readonly [valid: number, invalid: number, health: string, changes: number])[] = [
      [2, 0, 'receiving', 1],
      [3, 1, 'receiving', 1],
      [1, 2, 'needs_attention', 2],
      [0, 1, 'needs_attention', 2],
      [1, 0, 'receiving', 3],
    ];
    for (const [valid, invalid, health, changes] of steps) {
      expect(await log(valid, invalid)).toBe(health);
      expect(await feed()).toHaveLength(changes);
    }
    await log(0, 2, { testEventCode: 'T1' });
    await log(0, 2, { confirm: false });
    const url = `${service.baseUrl}/api/v2/buyer/event-sources/${encodeURIComponent(KEY)}?advertiserId=${advertiserId}`;
    expect((await feed()).map(({ type, data }) => ({ type, data }))).toEqual(
      // The number of events in the stream of the source.
      [1, 3, 5].map((revision) => ({
        type: KIND,
        data: {
          resourceType: 'EVENT_SOURCE',
          resourceId: KEY,
          advertiserId: String(advertiserId),
          revision,
          changed: ['health'],
          url,
        },
      })),
    );
    const read = await fetch(url, { headers: { Authorization: `Bearer ${account.apiKey}` } });
    expect(await read.json()).toMatchObject({
      data: { eventSourceId: KEY, health: { status: 'receiving' } },
    });
  });

  it('is in a stream and at a receiver, once, with the source as it is', async () => {
    const ids = (await feed()).map(({ id }) => id);
    await stream.until(() => stream.events().length === ids.length);
    expect(stream.events().map(({ event, data }) => [event, JSON.parse(data)])).toEqual(
      (await feed()).map((body) => [KIND, body]),
    );
    await until(async () => receiver.received.length >= ids.length);
    const bodies = receiver.received.map(({ body }) => JSON.parse(body.toString()) as Change);
    expect(bodies.map(({ id }) => id).sort()).toEqual([...ids].sort());
    const { body } = await account.api.get<Change['data']['object']>(
      `/event-sources/${encodeURIComponent(KEY)}?advertiserId=${advertiserId}`,
    );
    const last = bodies.find(({ id }) => id === ids.at(-1));
    expect(last?.data.object).toEqual(body.data);
    expect(last?.data.object?.health).toMatchObject({ status: 'receiving', lastEventType: 'custom' });
    for (const { data } of bodies) expect(data.object?.eventSourceId).toBe(KEY);
  });

  it('is notified to its account alone, with its advertiser', async () => {
    const [stranger, other] = [await service.openAccount(), await newAdvertiser()];
    await log(1, 0, {}, account, other);
    await log(1, 0, {}, stranger, await newAdvertiser(stranger));
    const of = async (query: string) =>
      (await account.api.get<{ events: readonly Change[] }>(`/events?types=${KIND}&${query}`)).body.data
        .events;
    expect(await of(`advertiserId=${other}`)).toHaveLength(1);
    expect(await of(`advertiserId=${advertiserId}`)).toHaveLength(3);
    expect(await feed(stranger)).toHaveLength(1);
  });

  it('has the same entries after a rebuild of the feed', async () => {
    const before = await feed();
    expect(before).toHaveLength(4);
    // The delivery of the last change may still be on its way.
    await until(async () => receiver.received.length >= before.length);
    const [all, delivered] = [await account.api.get('/events?take=200'), receiver.received.length];
    const rebuilt = await rebuildOnline(rebuildOptions(service), notificationsProjection);
    expect([rebuilt.differences, rebuilt.rows > 4]).toEqual([0, true]);
    expect(await feed()).toEqual(before);
    expect((await account.api.get('/events?take=200')).body.data).toMatchObject({
      events: (all.body.data as { events: readonly unknown[] }).events,
    });
    expect(receiver.received).toHaveLength(delivered);
  });

  it('is delivered without the source if that was archived meanwhile', async () => {
    const { api } = account;
    const sync = {
      account: { account_id: String(advertiserId) },
      event_sources: [{ event_source_id: 'other' }],
      delete_missing: true,
    };
    expect((await api.post(`/advertisers/${advertiserId}/event-sources/sync`, sync)).status).toBe(200);
    const [subscription] = (
      await api.get<{ subscriptions: readonly { id: string }[] }>('/webhook-subscriptions')
    ).body.data.subscriptions;
    const path = `/webhook-subscriptions/${subscription?.id}/deliveries`;
    const { deliveries } = (await api.get<{ deliveries: readonly { id: string; messageId: string }[] }>(path))
      .body.data;
    const [first] = await feed();
    const delivery = deliveries.find(({ messageId }) => messageId === first?.id);
    const delivered = receiver.received.length;
    expect((await api.post(`${path}/${delivery?.id}/redeliver`, {})).status).toBe(202);
    await until(async () => receiver.received.length > delivered);
    const again = JSON.parse(receiver.received.at(-1)?.body.toString() ?? '') as Change;
    expect(again).toEqual({ ...first, data: { ...first?.data, objectOmitted: true } });
  });
});
