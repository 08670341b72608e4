import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ClientBase } from 'pg';
import { createDeliveryPages } from '../../app/delivery-pages.ts';
import { deliveryChanges } from '../../command/workers/webhooks/change-rows.ts';
import { WEBHOOK } from '../../domain/webhooks/work.ts';
import { expiredRows } from '../../projections/expired-rows.ts';
import { notificationsProjection } from '../../projections/notifications.ts';
import { cancelDue, type SubscriptionPlace } from '../../projections/webhook-rows.ts';
import { derivedId, notificationIdOf } from '../../shared/aggregate/ids.ts';
import { systemClock } from '../../shared/async/clock.ts';
import type { JsonObject, RecordedEvent } from '../../shared/event-store/event-store.ts';
import { createWorkList } from '../../shared/work-list/work-list.ts';
import { until } from '../support/until.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import {
  accountIn,
  createWebhookLog,
  projectLog,
  type AccountEvents,
  type WebhookLog,
} from '../support/webhook-log.ts';
import { workOnce } from '../support/work-once.ts';

const readModels = useReadModelDatabase();

const ONE = 'a0000000-0000-4000-8000-000000000001';
const TWO = 'b0000000-0000-4000-8000-000000000002';
const CAMPAIGN = 'c0000000-0000-4000-8000-000000000003';

let log: WebhookLog;
let account: AccountEvents;
beforeEach(async () => {
  await readModels.pool.query(
    `truncate projection_checkpoints, webhook_endpoints, webhook_disabled_accounts, webhook_streams, webhook_messages,
       webhook_deliveries, webhook_health, notifications, notification_streams, work_list, parked_streams`,
  );
  log = createWebhookLog();
  account = accountIn(log, 7);
});

interface Row {
  readonly subscription: string;
  readonly message: string;
  readonly kind: string;
  readonly state: string;
}

const query = async <T extends object>(text: string, values: unknown[] = []): Promise<T[]> =>
  (await readModels.pool.query<T>(text, values)).rows;

const rows = (): Promise<Row[]> =>
  query<Row>(
    `select d.subscription_id as subscription, d.message_id as message, d.kind, d.state
     from webhook_deliveries d join webhook_messages m on m.customer_id = d.customer_id and m.id = d.message_id
     order by m.position, d.subscription_id, d.id`,
  );

const kindsOf = async (subscription: string): Promise<readonly string[]> =>
  (await rows()).filter((row) => row.subscription === subscription).map(({ kind }) => kind);

const statesOf = async (subscription: string): Promise<readonly string[]> =>
  (await rows()).filter((row) => row.subscription === subscription).map(({ state }) => state);

const due = async (): Promise<readonly string[]> =>
  (await query<{ key: string }>('select key from work_list where kind = $1 order by key', [WEBHOOK])).map(
    ({ key }) => key,
  );

const project = (sizes?: readonly number[]): Promise<void> => projectLog(readModels.pool, log, sizes);

/** @returns the number of entries of `webhook-rows` that were worked on */
const changeRows = async (): Promise<number> => {
  const kind = deliveryChanges({
    pages: createDeliveryPages(readModels.pool),
    clock: systemClock,
    isWhole: async () => true,
  });
  return workOnce(createWorkList(readModels.pool), kind);
};

const firstMessage = (event: RecordedEvent): string => notificationIdOf(event.id, 0);

const setStates = (state: string): Promise<unknown> =>
  query(`update webhook_deliveries set state = $1, attempts = 10, last_attempt_at = now()`, [state]);

describe('the position of the account', () => {
  it('is recorded with its deliveries, so that a receiver that reads the account finds the change', async () => {
    const positions = () => query('select customer_id, position from account_positions');
    await query('truncate account_positions');
    account.archiveAdvertiser(1);
    account.subscribe(ONE);
    await project();
    expect(await positions()).toEqual([]);
    const { position } = account.restoreAdvertiser(1);
    account.createCampaign(CAMPAIGN, 2);
    account.change(ONE, 'SubscriptionPaused');
    const last = account.pauseCampaign(CAMPAIGN);
    await project([3]);
    expect(await positions()).toEqual([{ customer_id: '7', position: last.position }]);
    expect(position < last.position).toBe(true);
  });
});

describe('which subscriptions get a notification', () => {
  it('those created before its event, with the id of both', async () => {
    account.archiveAdvertiser(1);
    account.subscribe(ONE);
    const between = account.restoreAdvertiser(1);
    account.subscribe(TWO);
    const last = account.archiveAdvertiser(1);
    await project();
    expect(await rows()).toEqual([
      { subscription: ONE, message: firstMessage(between), kind: 'advertiser.restored', state: 'due' },
      { subscription: ONE, message: firstMessage(last), kind: 'advertiser.archived', state: 'due' },
      { subscription: TWO, message: firstMessage(last), kind: 'advertiser.archived', state: 'due' },
    ]);
    expect(
      await query('select id from webhook_deliveries where message_id = $1 order by id', [
        firstMessage(last),
      ]),
    ).toEqual(
      [ONE, TWO]
        .map((id) => ({ id: derivedId(firstMessage(last), id) }))
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
    const [message] = await query<{ data: JsonObject; advertiser_id: number; occurred_at: Date }>(
      'select data, advertiser_id, occurred_at from webhook_messages where id = $1',
      [firstMessage(last)],
    );
    expect(message).toEqual({
      data: {
        resourceType: 'ADVERTISER',
        resourceId: '1',
        revision: 3,
        changed: ['status'],
        path: '/api/v2/buyer/advertisers/1',
      },
      advertiser_id: 1,
      occurred_at: new Date(last.metadata.occurredAt),
    });
    expect(await due()).toEqual([ONE, TWO]);
  });

  it.each([
    [['*'], ['campaign.created', 'campaign.phase_changed', 'advertiser.archived']],
    [['campaign.*'], ['campaign.created', 'campaign.phase_changed']],
    [
      ['campaign.phase_changed', 'advertiser.*'],
      ['campaign.phase_changed', 'advertiser.archived'],
    ],
    [['creative.*'], []],
  ])('of the kinds %j', async (eventTypes, expected) => {
    account.subscribe(ONE, { eventTypes });
    account.createCampaign(CAMPAIGN, 1);
    account.pauseCampaign(CAMPAIGN);
    // Makes an internal notification, which matches nothing.
    log.append({ customerId: 7, stream: 'session-7-s', type: 'SessionEnded', data: {} });
    account.archiveAdvertiser(1);
    await project();
    expect(await kindsOf(ONE)).toEqual(expected);
  });

  it('of the advertisers, also of streams that began before any subscription', async () => {
    account.createCampaign(CAMPAIGN, 1);
    const other = randomUUID();
    account.createCampaign(other, 2);
    await project();
    account.subscribe(ONE, { advertiserIds: [1] });
    account.subscribe(TWO, { advertiserIds: [3] });
    account.pauseCampaign(CAMPAIGN);
    account.pauseCampaign(other);
    account.archiveAdvertiser(1);
    // Belongs to no advertiser.
    account.change(TWO, 'SubscriptionPaused');
    await project();
    expect(await kindsOf(ONE)).toEqual(['campaign.phase_changed', 'advertiser.archived']);
    expect(await kindsOf(TWO)).toEqual([]);
  });

  it('of event sources whose health changed, without a row or a look-up for each stream', async () => {
    account.subscribe(ONE, { eventTypes: ['event_source.*'], advertiserIds: [1] });
    const first = account.logConversions(CAMPAIGN, 1, 'not_seen');
    account.logConversions(CAMPAIGN, 1, undefined);
    account.logConversions(randomUUID(), 2, 'not_seen');
    const again = account.logConversions(CAMPAIGN, 1, 'needs_attention');
    await project([1, 2]);
    expect((await rows()).map(({ kind, message }) => [kind, message])).toEqual(
      [first, again].map((event) => ['event_source.health_changed', firstMessage(event)]),
    );
    expect(await query('select data, advertiser_id from webhook_messages order by position')).toEqual(
      [1, 3].map((revision) => ({
        data: {
          resourceType: 'EVENT_SOURCE',
          resourceId: `shop-${CAMPAIGN}`,
          revision,
          changed: ['health'],
          path: `/api/v2/buyer/event-sources/shop-${CAMPAIGN}?advertiserId=1`,
        },
        advertiser_id: 1,
      })),
    );
    await projectLog(readModels.pool, log, [2], notificationsProjection);
    expect(await query('select revision::int, advertiser_id from notifications order by position')).toEqual([
      { revision: 1, advertiser_id: 1 },
      { revision: 1, advertiser_id: 2 },
      { revision: 3, advertiser_id: 1 },
    ]);
    expect(await query('select * from webhook_streams union all select * from notification_streams')).toEqual(
      [],
    );
  });

  it('with the filters of the moment of the event', async () => {
    account.subscribe(ONE, { eventTypes: ['advertiser.archived'] });
    account.archiveAdvertiser(1);
    account.restoreAdvertiser(1);
    account.change(ONE, 'SubscriptionUpdated', { changes: { eventTypes: ['advertiser.restored'] } });
    account.archiveAdvertiser(1);
    account.restoreAdvertiser(1);
    await project([1]);
    expect(await kindsOf(ONE)).toEqual(['advertiser.archived', 'advertiser.restored']);
  });

  it('no subscription of another account', async () => {
    account.subscribe(ONE);
    accountIn(log, 8).subscribe(TWO);
    accountIn(log, 8).archiveAdvertiser(1);
    await project();
    expect(await kindsOf(ONE)).toEqual([]);
    expect(await query('select distinct customer_id::int as id from webhook_messages')).toEqual([{ id: 8 }]);
  });

  it('none for an event that is too old, although its rows may be gone', async () => {
    account.subscribe(ONE);
    const days = (n: number): string => new Date(Date.now() - n * 86_400_000).toISOString();
    const archived = { customerId: 7, stream: 'advertiser-7-1', type: 'AdvertiserArchived' };
    log.append({ ...archived, occurredAt: days(29.01) });
    const young = log.append({ ...archived, occurredAt: days(28.9) });
    await project();
    expect((await rows()).map(({ message }) => message)).toEqual([firstMessage(young)]);
    expect(await query('select id from webhook_messages')).toHaveLength(1);
  });
});

describe('the state of a subscription', () => {
  it('paused: deliveries wait, and are due when it is enabled', async () => {
    account.subscribe(ONE, { eventTypes: ['advertiser.*'] });
    account.change(ONE, 'SubscriptionPaused');
    account.archiveAdvertiser(1);
    await project();
    expect(await statesOf(ONE)).toEqual(['due']);
    expect(await due()).toEqual([]);
    account.change(ONE, 'SubscriptionEnabled');
    account.restoreAdvertiser(1);
    await project();
    expect(await statesOf(ONE)).toEqual(['due', 'due']);
    expect(await due()).toEqual([ONE]);
  });

  it('with another URL: what waits is tried now', async () => {
    account.subscribe(ONE, { eventTypes: ['advertiser.*'] });
    account.archiveAdvertiser(1);
    await project();
    await query(`update work_list set due_at = now() + interval '1 day'`);
    account.change(ONE, 'SubscriptionUpdated', { changes: { description: 'One' } });
    await project();
    const isDue = () => query<{ now: boolean }>('select due_at <= now() as now from work_list');
    expect(await isDue()).toEqual([{ now: false }]);
    account.change(ONE, 'SubscriptionUpdated', { changes: { url: 'https://other.example.com/' } });
    await project();
    expect(await isDue()).toEqual([{ now: true }]);
  });

  it.each(['gone', 'failing'])('disabled (%s): none are made, due ones are canceled', async (reason) => {
    account.subscribe(ONE, { eventTypes: ['advertiser.*'] });
    account.archiveAdvertiser(1);
    account.change(ONE, 'SubscriptionDisabled', { reason, message: 'No.' });
    account.restoreAdvertiser(1);
    await project();
    expect(await changeRows()).toBe(1);
    expect(await statesOf(ONE)).toEqual(['canceled']);
    account.change(ONE, 'SubscriptionEnabled');
    account.archiveAdvertiser(1);
    await project();
    expect(await statesOf(ONE)).toEqual(['canceled', 'due']);
  });

  it('enabled before the due ones are canceled: those made since stay due', async () => {
    account.subscribe(ONE, { eventTypes: ['advertiser.*'] });
    account.archiveAdvertiser(1);
    account.change(ONE, 'SubscriptionDisabled', { reason: 'gone', message: 'No.' });
    account.change(ONE, 'SubscriptionEnabled');
    account.restoreAdvertiser(1);
    await project();
    await changeRows();
    expect(await statesOf(ONE)).toEqual(['canceled', 'due']);
  });

  it('deleted: none are made, due ones are canceled', async () => {
    account.subscribe(ONE);
    account.archiveAdvertiser(1);
    account.change(ONE, 'SubscriptionDeleted');
    account.restoreAdvertiser(1);
    await project();
    await changeRows();
    expect(await statesOf(ONE)).toEqual(['canceled']);
  });

  it('a disabled account: all of its subscriptions, also one created meanwhile', async () => {
    account.subscribe(ONE, { eventTypes: ['advertiser.*'] });
    account.archiveAdvertiser(1);
    account.access('AccountDisabled');
    account.subscribe(TWO, { eventTypes: ['advertiser.*'] });
    account.restoreAdvertiser(1);
    await project();
    await changeRows();
    expect(await statesOf(ONE)).toEqual(['canceled']);
    expect(await statesOf(TWO)).toEqual([]);
    expect(await query('select distinct status from webhook_endpoints')).toEqual([{ status: 'suspended' }]);
    account.change(TWO, 'SubscriptionPaused');
    account.access('AccountEnabled');
    account.archiveAdvertiser(1);
    await project();
    expect(await statesOf(ONE)).toEqual(['canceled', 'due']);
    expect(await statesOf(TWO)).toEqual(['due']);
    expect(await query('select status from webhook_endpoints order by subscription_id')).toEqual([
      { status: 'active' },
      { status: 'paused' },
    ]);
  });
});

describe('requests of a subscriber', () => {
  it('a test is delivered to its subscription, regardless of the filters', async () => {
    account.subscribe(ONE, { eventTypes: ['advertiser.*'], advertiserIds: [5] });
    account.subscribe(TWO);
    const test = account.change(ONE, 'TestRequested', { kind: 'creative.updated' });
    await project();
    const message = firstMessage(test);
    expect(await rows()).toEqual([{ subscription: ONE, message, kind: 'creative.updated', state: 'due' }]);
    expect(await query('select data from webhook_messages')).toMatchObject([
      { data: { resourceType: 'CREATIVE', changed: ['copy', 'state'] } },
    ]);
  });

  it('a redelivery makes one delivery due again, once', async () => {
    account.subscribe(ONE, { eventTypes: ['advertiser.*'] });
    const event = account.archiveAdvertiser(1);
    account.restoreAdvertiser(1);
    await project();
    await setStates('delivered');
    await query('delete from work_list');
    const deliveryId = derivedId(firstMessage(event), ONE);
    account.change(ONE, 'RedeliveryRequested', { deliveryId });
    await project();
    expect(await statesOf(ONE)).toEqual(['due', 'delivered']);
    expect(await query(`select round_began_at from webhook_deliveries where state = 'due'`)).toEqual([
      { round_began_at: 10 },
    ]);
    expect(await due()).toEqual([ONE]);
    await setStates('failed');
    await query('delete from projection_checkpoints');
    await project();
    expect(await statesOf(ONE)).toEqual(['failed', 'failed']);
  });

  it('a redelivery reaches no delivery of another subscription or account', async () => {
    const other = accountIn(log, 8);
    account.subscribe(ONE);
    account.subscribe(TWO, { eventTypes: ['creative.*'] });
    other.subscribe(randomUUID());
    const deliveryId = derivedId(firstMessage(account.archiveAdvertiser(1)), ONE);
    await project();
    await setStates('delivered');
    account.change(TWO, 'RedeliveryRequested', { deliveryId });
    await project();
    expect(await statesOf(ONE)).toEqual(['delivered']);
  });

  it('a recovery makes failed and canceled deliveries due again, of events since then', async () => {
    account.subscribe(ONE, { eventTypes: ['advertiser.*'] });
    const archived = { customerId: 7, stream: 'advertiser-7-1', type: 'AdvertiserArchived' };
    const at = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();
    const states = ['failed', 'failed', 'canceled', 'delivered', 'due'];
    const events = states.map((_, n) => log.append({ ...archived, occurredAt: at(60 - n) }));
    await project();
    for (const [n, event] of events.entries()) {
      await query('update webhook_deliveries set state = $1, attempts = 10 where message_id = $2', [
        states[n],
        firstMessage(event),
      ]);
    }
    await query('delete from work_list');
    account.change(ONE, 'RecoveryRequested', { since: events[1]?.metadata.occurredAt ?? '' });
    account.restoreAdvertiser(1);
    await project();
    expect(await changeRows()).toBe(1);
    expect(await statesOf(ONE)).toEqual(['failed', 'due', 'due', 'delivered', 'due', 'due']);
    expect(await due()).toEqual([ONE]);
    // A delivery that was due then and fails later is not recovered by a repetition.
    await query(`update webhook_deliveries set state = 'failed' where state = 'due'`);
    const after = await statesOf(ONE);
    await query('delete from projection_checkpoints');
    await project();
    expect(await changeRows()).toBe(1);
    expect(await statesOf(ONE)).toEqual(after);
  });
});

describe('changes of one delivery at the same time', () => {
  /** Its one delivery is due, of an event before the subscription ended and began again. */
  const endedAndLive = async (): Promise<SubscriptionPlace> => {
    account.subscribe(ONE, { eventTypes: ['advertiser.*'] });
    account.archiveAdvertiser(1);
    account.change(ONE, 'SubscriptionDisabled', { reason: 'gone', message: 'No.' });
    account.change(ONE, 'SubscriptionEnabled');
    await project();
    return { customerId: 7, subscriptionId: ONE };
  };
  /** @param second waits for the row that `first` has changed, until that is committed */
  const atOnce = async (
    first: (client: ClientBase) => Promise<unknown>,
    second: () => Promise<unknown>,
  ): Promise<void> => {
    const client = await readModels.pool.connect();
    try {
      await client.query('begin');
      await first(client);
      const waiting = second();
      await until(async () => {
        const waits = `wait_event_type = 'Lock' and datname = current_database()`;
        return (await query(`select pid from pg_stat_activity where ${waits}`)).length === 1;
      });
      await client.query('commit');
      await waiting;
    } finally {
      client.release();
    }
  };

  it('a recovery reaches a delivery that is canceled meanwhile', async () => {
    const place = await endedAndLive();
    const since = log.events[0]?.metadata.occurredAt ?? '';
    const recovery = { is: 'recover', subscriptionId: ONE, generation: 2, since } as const;
    await atOnce(
      (client) => cancelDue(client, place, 1, 10),
      () => createDeliveryPages(readModels.pool).recover(place, recovery, undefined),
    );
    expect(await statesOf(ONE)).toEqual(['due']);
    expect(await due()).toEqual([ONE]);
  });

  it('a cancellation reaches a delivery of which a failed attempt is recorded meanwhile', async () => {
    const place = await endedAndLive();
    await atOnce(
      (client) =>
        client.query(`update webhook_deliveries set attempts = 1, due_at = now() + interval '1 hour'`),
      () => createDeliveryPages(readModels.pool).cancel(place, 1),
    );
    expect(await statesOf(ONE)).toEqual(['canceled']);
  });
});

describe('a replay', () => {
  const projectFeed = (): Promise<void> => projectLog(readModels.pool, log, [1_000], notificationsProjection);
  const period = { since: '2020-01-01T00:00:00.000Z', until: '2100-01-01T00:00:00.000Z' };
  const replay = (replayId: string, eventTypes: readonly string[] = []): RecordedEvent =>
    account.change(ONE, 'ReplayRequested', { ...period, replayId, eventTypes: [...eventTypes] });

  it('of adjacent periods delivers each notification once', async () => {
    const [first, second] = ['2026-11-01T10:00:00.000Z', '2026-11-01T10:00:00.001Z'];
    const stream = 'advertiser-7-1';
    const events = [first, second].map((occurredAt, n) =>
      log.append({
        customerId: 7,
        stream,
        type: n === 0 ? 'AdvertiserArchived' : 'AdvertiserRestored',
        occurredAt,
      }),
    );
    account.subscribe(ONE);
    account.change(ONE, 'ReplayRequested', {
      ...period,
      until: second,
      replayId: randomUUID(),
      eventTypes: [],
    });
    account.change(ONE, 'ReplayRequested', {
      ...period,
      since: second,
      replayId: randomUUID(),
      eventTypes: [],
    });
    await project();
    await projectFeed();
    expect(await changeRows()).toBe(2);
    expect((await rows()).map(({ message }) => message)).toEqual(events.map(firstMessage));
  });

  it('delivers the notifications of the period, also those never sent, once each', async () => {
    const before = account.archiveAdvertiser(1);
    account.createCampaign(CAMPAIGN, 1);
    account.subscribe(ONE, { eventTypes: ['advertiser.*'], advertiserIds: [1] });
    const sent = account.restoreAdvertiser(1);
    account.archiveAdvertiser(2);
    const replayId = randomUUID();
    replay(replayId);
    account.archiveAdvertiser(1);
    await project();
    await setStates('delivered');
    // The feed is behind.
    expect(await changeRows()).toBe(1);
    expect(await statesOf(ONE)).toEqual(['delivered', 'delivered']);
    await projectFeed();
    await query(`update work_list set due_at = now() where kind = 'webhook-rows'`);
    expect(await changeRows()).toBe(1);
    const made = await query<{ id: string; message: string }>(
      `select id, message_id as message from webhook_deliveries where state = 'due'`,
    );
    const expected = [before, sent].map(firstMessage);
    expect(made.map(({ message }) => message).toSorted()).toEqual(expected.toSorted());
    expect(made.every(({ id, message }) => id === derivedId(message, replayId))).toBe(true);
    await setStates('delivered');
    await query('delete from projection_checkpoints where name = $1', ['webhook-fan-out']);
    await project();
    expect(await changeRows()).toBe(1);
    expect(new Set(await statesOf(ONE))).toEqual(new Set(['delivered']));
  });

  it('delivers the kinds that it names', async () => {
    account.archiveAdvertiser(1);
    account.createCampaign(CAMPAIGN, 1);
    account.subscribe(ONE, { eventTypes: ['advertiser.*'] });
    replay(randomUUID(), ['campaign.*']);
    await project();
    await projectFeed();
    await changeRows();
    expect(await kindsOf(ONE)).toEqual(['campaign.created']);
  });

  it('takes many pages', async () => {
    for (let n = 0; n < 2_500; n += 1) account.archiveAdvertiser(n % 2);
    account.subscribe(ONE);
    replay(randomUUID());
    await project();
    await projectFeed();
    await changeRows();
    expect(await kindsOf(ONE)).toHaveLength(2_500);
    account.change(ONE, 'RecoveryRequested', { since: period.since });
    await project();
    await setStates('failed');
    await changeRows();
    expect(new Set(await statesOf(ONE))).toEqual(new Set(['due']));
    account.change(ONE, 'SubscriptionDeleted');
    await project();
    await changeRows();
    expect(new Set(await statesOf(ONE))).toEqual(new Set(['canceled']));
  });

  it('ends when the subscription is disabled', async () => {
    account.archiveAdvertiser(1);
    account.subscribe(ONE);
    replay(randomUUID());
    account.change(ONE, 'SubscriptionDisabled', { reason: 'gone', message: 'No.' });
    account.change(ONE, 'SubscriptionEnabled');
    await project();
    await projectFeed();
    await changeRows();
    expect(await kindsOf(ONE)).toEqual(['webhook_subscription.status_changed']);
  });
});

it('a poison event parks its stream, and the others keep their order in the batch', async () => {
  account.archiveAdvertiser(1);
  account.subscribe(ONE);
  log.append({ customerId: 7, stream: `campaign-7-${CAMPAIGN}`, type: 'CampaignCreated', data: {} });
  account.restoreAdvertiser(1);
  account.pauseCampaign(CAMPAIGN);
  account.change(ONE, 'SubscriptionDisabled', { reason: 'gone', message: 'No.' });
  account.archiveAdvertiser(1);
  await project();
  expect(await kindsOf(ONE)).toEqual(['advertiser.restored']);
  expect(await query('select stream from parked_streams')).toEqual([{ stream: `campaign-7-${CAMPAIGN}` }]);
});

describe('retention', () => {
  const purge = async (what: keyof ReturnType<typeof expiredRows>): Promise<number> =>
    expiredRows(readModels.pool)[what].purge(1_000);

  it('keeps a delivery that waits for an attempt, however old: it was requested again', async () => {
    account.subscribe(ONE);
    account.archiveAdvertiser(1);
    account.restoreAdvertiser(1);
    await project();
    await query(`update webhook_deliveries set created_at = now() - interval '31 days'`);
    await query(
      `update webhook_deliveries set due_at = now() - interval '8 days' where kind like '%restored'`,
    );
    expect(await purge('deliveries of webhooks')).toBe(1);
    expect(await kindsOf(ONE)).toEqual(['advertiser.archived']);
    await setStates('failed');
    expect(await purge('deliveries of webhooks')).toBe(1);
  });

  it('keeps deliveries 30 days, messages as long as their deliveries, deleted endpoints as long as theirs', async () => {
    account.subscribe(ONE);
    account.archiveAdvertiser(1);
    account.restoreAdvertiser(1);
    account.change(ONE, 'SubscriptionDeleted');
    await project();
    await query(`insert into webhook_health (customer_id, subscription_id) values (7, $1)`, [ONE]);
    await query(`update webhook_messages set created_at = now() - interval '31 days'`);
    expect(await purge('messages of webhooks')).toBe(0);
    expect(await purge('deliveries of webhooks')).toBe(0);
    expect(await purge('deleted webhooks')).toBe(0);
    await query(
      `update webhook_deliveries set created_at = now() - interval '30 days 1 minute' where kind = 'advertiser.archived'`,
    );
    expect(await purge('deliveries of webhooks')).toBe(1);
    expect(await purge('messages of webhooks')).toBe(1);
    expect(await purge('deleted webhooks')).toBe(0);
    await query(`update webhook_deliveries set created_at = now() - interval '30 days 1 minute'`);
    expect(await purge('deliveries of webhooks')).toBe(1);
    expect(await purge('messages of webhooks')).toBe(1);
    expect(await purge('deleted webhooks')).toBe(1);
    expect(await query('select from webhook_endpoints union all select from webhook_health')).toEqual([]);
  });

  it('cancels deliveries that waited seven days for a paused subscription', async () => {
    account.subscribe(ONE, { eventTypes: ['advertiser.*'] });
    account.subscribe(TWO, { eventTypes: ['advertiser.*'] });
    account.archiveAdvertiser(1);
    account.change(ONE, 'SubscriptionPaused');
    await project();
    await query(`update webhook_deliveries set due_at = now() - interval '6 days 23 hours'`);
    expect(await purge('waiting deliveries of webhooks')).toBe(0);
    await query(`update webhook_deliveries set due_at = now() - interval '7 days 1 minute'`);
    expect(await purge('waiting deliveries of webhooks')).toBe(1);
    expect([await statesOf(ONE), await statesOf(TWO)]).toEqual([['canceled'], ['due']]);
  });
});
