import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { allEvents } from '../../domain/all-events.ts';
import { notificationRules, silent } from '../../domain/all-notifications.ts';
import {
  exampleBody,
  notificationBody,
  NotificationBody,
  webhookBody,
} from '../../domain/notifications/body.ts';
import { ACCESS_CHANGED, publicKinds, exampleNotification } from '../../domain/notifications/kinds.ts';
import { EventTypes, kindsMatching, matchesKind } from '../../domain/notifications/matches.ts';
import {
  advertiserOfEvent,
  isNotified,
  notificationsOf,
} from '../../domain/notifications/notifications-of.ts';
import { notificationIdOf } from '../../shared/aggregate/ids.ts';

const uuid = '0d4f6a1c-83e7-5b29-a6c4-1f8e2b9d7305';
const digits = uuid.replaceAll('-', '');
const advertiser = 'advertiser-7-101';
const campaign = `campaign-7-${uuid}`;
const creative = `creative-7-${uuid}`;
const syndication = `syndication-7-${uuid}`;
const webhook = `webhook-7-${uuid}`;
const round = `proposalRequest-7-${uuid}`;
const conversions = `conversions-7-${uuid}`;

const syncOf = (...actions: readonly string[]) => ({
  taskId: uuid,
  customerId: 7,
  advertiserId: 101,
  taskType: 'audience_sync',
  response: { audiences: actions.map((action) => ({ audienceId: 'a', action })) },
});

/** Given an event of a stream, its notification: kind and changed members. */
const cases: readonly (readonly [string, string, object, string, ...(readonly string[])])[] = [
  [
    round,
    'ProposalRequestCompleted',
    { campaignId: uuid, advertiserId: 101, status: 'partial' },
    'proposal_request.completed',
    'status',
    'completedAt',
    'summary',
    'perSeller',
  ],
  [
    round,
    'LateAnswerRecorded',
    { campaignId: uuid, advertiserId: 101, sellerId: 1 },
    'proposal_request.updated',
    'summary',
    'perSeller',
  ],
  [
    conversions,
    'ConversionsLogged',
    { advertiserId: 101, healthChange: { before: 'not_seen', eventSourceId: 'a shop/é?' } },
    'event_source.health_changed',
    'health',
  ],
  [advertiser, 'AdvertiserCreated', { advertiserId: 101 }, 'advertiser.created'],
  [
    advertiser,
    'AdvertiserUpdated',
    { changes: { name: 'x', description: null } },
    'advertiser.updated',
    'name',
    'description',
  ],
  [advertiser, 'AdvertiserFrequencyCapsReplaced', { caps: [] }, 'advertiser.updated', 'frequencyCaps'],
  [advertiser, 'AdvertiserCurrencyLocked', {}, 'advertiser.updated', 'currencyLocked'],
  [advertiser, 'AdvertiserArchived', {}, 'advertiser.archived', 'status'],
  [advertiser, 'AdvertiserRestored', {}, 'advertiser.restored', 'status'],
  [campaign, 'CampaignCreated', { advertiserId: 101 }, 'campaign.created'],
  [campaign, 'CampaignUpdated', { changes: { budget: null } }, 'campaign.updated', 'budget'],
  ...['Launched', 'Paused', 'Reactivated', 'Completed', 'Archived'].map(
    (what) => [campaign, `Campaign${what}`, {}, 'campaign.phase_changed', 'phase'] as const,
  ),
  [creative, 'CreativeCreated', { advertiserId: 101 }, 'creative.created'],
  [creative, 'CreativeUpdated', { changes: { name: 'x' } }, 'creative.updated', 'name'],
  [
    creative,
    'CreativeUpdated',
    { changes: {}, frequencyCaps: { caps: [] } },
    'creative.updated',
    'frequencyCaps',
  ],
  [creative, 'CreativeAttached', { campaignId: uuid }, 'creative.updated', 'campaigns'],
  [creative, 'CreativeDetached', { campaignId: uuid, archives: false }, 'creative.updated', 'campaigns'],
  [
    creative,
    'CreativeDetached',
    { campaignId: uuid, archives: true },
    'creative.archived',
    'campaigns',
    'state',
  ],
  [creative, 'CreativePromoted', { role: 'evergreen' }, 'creative.updated', 'promoted', 'role'],
  [creative, 'CreativeArchived', {}, 'creative.archived', 'state'],
  [creative, 'CreativeSubmitted', { sellerIds: [1] }, 'creative.review_status_changed', 'sellerStatuses'],
  [creative, 'CreativeReviewed', { sellerId: 1 }, 'creative.review_status_changed', 'sellerStatuses'],
  [
    syndication,
    'SyndicationToggled',
    { advertiserId: 101, enabled: true },
    'syndication.status_changed',
    'status',
    'enabled',
    'errorMessage',
    'responseData',
    'completedAt',
  ],
  [
    syndication,
    'SyndicationRefreshed',
    { generation: 2 },
    'syndication.status_changed',
    'status',
    'errorMessage',
    'responseData',
    'completedAt',
  ],
  [syndication, 'SyndicationStarted', {}, 'syndication.status_changed', 'status', 'errorMessage'],
  [
    syndication,
    'SyndicationCompleted',
    {},
    'syndication.status_changed',
    'status',
    'errorMessage',
    'responseData',
    'completedAt',
  ],
  [syndication, 'SyndicationFailed', {}, 'syndication.status_changed', 'status', 'errorMessage'],
  [syndication, 'SyndicationRetried', {}, 'syndication.attempt_failed', 'errorMessage'],
  [syndication, 'SyndicationWithdrawn', {}, 'syndication.withdrawn', 'responseData'],
  [`task-7-${uuid}`, 'TaskAccepted', syncOf('created', 'failed'), 'task.completed'],
  [`task-7-${uuid}`, 'TaskAccepted', syncOf(), 'task.completed'],
  [`task-7-${uuid}`, 'TaskAccepted', syncOf('failed', 'failed'), 'task.failed'],
  ...['Paused', 'Disabled', 'Enabled'].map(
    (what) =>
      [
        webhook,
        `WebhookSubscription${what}`,
        {},
        'webhook_subscription.status_changed',
        'status',
        'statusReason',
        'statusMessage',
      ] as const,
  ),
  ['account-7', 'AccountDisabled', {}, ACCESS_CHANGED],
  ['account-7', 'UserRoleChanged', { userId: '7-2' }, ACCESS_CHANGED],
  ['account-7', 'UserRemoved', { userId: '7-2' }, ACCESS_CHANGED],
  ['account-7', 'ApiKeyRevoked', { keyId: 'abc' }, ACCESS_CHANGED],
  [`session-7-${uuid}`, 'SessionEnded', { reason: 'ended' }, ACCESS_CHANGED],
  [`oauthGrant-7-${uuid}`, 'OAuthGrantRevoked', { by: 'user' }, ACCESS_CHANGED],
];

const notificationsIn = (stream: string, type: string, data: object, revision = 4) =>
  notificationsOf({ stream, type, data: data as Record<string, unknown>, revision });

describe('notifications of an event', () => {
  it.each(cases)('%s: %s %j tells %s', (stream, type, data, kind, ...changed) => {
    expect(notificationsIn(stream, type, data)).toEqual([
      expect.objectContaining({ kind, changed, revision: 5 }),
    ]);
  });

  it('every type of event has a rule or is silent, and the cases above have every rule and kind', () => {
    const types = allEvents.flatMap(({ events }) => Object.keys(events));
    const ruled = Object.keys(notificationRules);
    const notOfLog = [...ruled, ...silent].filter(
      (type) => !type.startsWith('Webhook') && !types.includes(type),
    );
    expect(
      types.filter((type) => Number(ruled.includes(type)) + Number(silent.includes(type as never)) !== 1),
    ).toEqual([]);
    expect(notOfLog).toEqual([]);
    expect(new Set(cases.map(([, type]) => type))).toEqual(new Set(ruled));
    expect(new Set(cases.map(([, , , kind]) => kind))).toEqual(new Set([...publicKinds, ACCESS_CHANGED]));
  });

  it('silent events make none', () => {
    for (const type of silent) expect(notificationsIn(`audience-7-${uuid}`, type, {})).toEqual([]);
    expect(isNotified({ type: 'ConversionsLogged', data: { advertiserId: 101, health: 'receiving' } })).toBe(
      false,
    );
    expect(notificationsIn(conversions, 'ConversionsLogged', { advertiserId: 101 })).toEqual([]);
  });

  it('names the resource as the API shows it', () => {
    const shown = cases.map(([stream, type, data]) => {
      const [{ resourceType, resourceId, path } = {}] = notificationsIn(stream, type, data);
      return [stream.split('-')[0], resourceType, resourceId, path].join(' ');
    });
    expect([...new Set(shown)].sort()).toEqual(
      [
        'advertiser ADVERTISER 101 /api/v2/buyer/advertisers/101',
        `campaign CAMPAIGN cmp_${digits} /api/v2/buyer/campaigns/cmp_${digits}`,
        `creative CREATIVE cre_${digits} /api/v2/buyer/creatives/cre_${digits}/detail`,
        `proposalRequest PROPOSAL_REQUEST prq_${digits} /api/v2/buyer/campaigns/cmp_${digits}/proposal-requests/prq_${digits}`,
        `syndication SYNDICATION syn_${digits} `,
        'conversions EVENT_SOURCE a shop/é? /api/v2/buyer/event-sources/a%20shop%2F%C3%A9%3F?advertiserId=101',
        `task TASK ${uuid} /api/v2/buyer/tasks/${uuid}`,
        `webhook WEBHOOK_SUBSCRIPTION whs_${digits} /api/v2/buyer/webhook-subscriptions/whs_${digits}`,
        'account ACCOUNT 7 ',
        'account API_KEY abc ',
        'account USER 7-2 ',
        `session SESSION ${uuid} `,
        `oauthGrant CONNECTED_APP ${uuid} `,
      ].sort(),
    );
  });

  it('only events that name it tell the advertiser', () => {
    const advertiserOf = (stream: string, type: string, data: object) =>
      advertiserOfEvent({ stream, type, data: data as Record<string, unknown>, revision: 0 });
    expect(advertiserOf(advertiser, 'AdvertiserArchived', {})).toBe(101);
    expect(advertiserOf(creative, 'CreativeCreated', { advertiserId: 101 })).toBe(101);
    expect(advertiserOf(creative, 'CreativeArchived', {})).toBeUndefined();
    expect(advertiserOf(conversions, 'ConversionsLogged', { advertiserId: 101 })).toBe(101);
    expect(advertiserOf('account-7', 'AccountDisabled', {})).toBeUndefined();
  });

  it('ids depend on the event and the index only', () => {
    expect(notificationIdOf(uuid, 0)).toBe(notificationIdOf(uuid, 0));
    expect(
      new Set(
        [0, 1].flatMap((idx) => [
          notificationIdOf(uuid, idx),
          notificationIdOf(notificationIdOf(uuid, 0), idx),
        ]),
      ).size,
    ).toBe(4);
  });
});

describe('the body', () => {
  const kept = { id: uuid, occurredAt: '2026-01-02T03:04:05.678Z' };

  it.each(publicKinds)('%s has an example that fits its schemas and is small', (kind) => {
    const body = exampleBody(kind, 'https://exchange.test');
    expect(NotificationBody.parse(body)).toEqual(body);
    expect(webhookBody(kind).parse(body)).toEqual(body);
    expect(JSON.stringify(body).length).toBeLessThan(10_000);
    const made = cases
      .filter(([, , , of]) => of === kind)
      .map(([stream, type, data]) => notificationsIn(stream, type, data)[0]);
    const example = exampleNotification(kind);
    expect(made[0]).toMatchObject({ kind, resourceType: example.resourceType });
    const shape = (path = '', id = '') =>
      path
        .replace(encodeURIComponent(id), '{id}')
        .replace(/cmp_[0-9a-f]{32}/, '{campaign}')
        .replace(/advertiserId=\d+/, '{advertiser}');
    expect(shape(made[0]?.path, made[0]?.resourceId)).toBe(shape(example.path, example.resourceId));
  });

  it('links to the present state if the event and the resource have different streams', () => {
    const one = { ...exampleNotification('event_source.health_changed'), ...kept };
    expect(notificationBody(one, 'https://exchange.test').data.url).toBe(
      'https://exchange.test/api/v2/buyer/event-sources/web-shop?advertiserId=12345',
    );
  });

  it('links to the state at the event', () => {
    const one = { ...exampleNotification('campaign.updated'), ...kept };
    expect(notificationBody(one, 'https://exchange.test')).toEqual({
      id: `msg_${uuid}`,
      type: 'campaign.updated',
      timestamp: kept.occurredAt,
      data: {
        resourceType: 'CAMPAIGN',
        resourceId: one.resourceId,
        advertiserId: '12345',
        revision: 2,
        changed: ['budget', 'flight'],
        url: `https://exchange.test/api/v2/buyer/campaigns/${one.resourceId}?asOf=2`,
      },
    });
    const { data } = notificationBody(
      { ...one, path: undefined, advertiserId: undefined },
      'https://exchange.test',
    );
    expect(Object.keys(data)).toEqual(['resourceType', 'resourceId', 'revision', 'changed']);
  });
});

describe('patterns of kinds', () => {
  const resources = [...new Set(publicKinds.map((kind) => kind.split('.')[0] ?? ''))];
  const pattern = fc.oneof(
    fc.constantFrom(...publicKinds),
    fc.constantFrom(...resources).map((resource) => `${resource}.*`),
    fc.constant('*'),
  );

  it('match what their parts say', () => {
    fc.assert(
      fc.property(fc.array(pattern), fc.constantFrom(...publicKinds), (patterns, kind) => {
        const [resource, action] = kind.split('.');
        const isIncluded = patterns.some((one) => {
          const [ofResource, ofAction] = one.split('.');
          return one === '*' || (ofResource === resource && (ofAction === '*' || ofAction === action));
        });
        expect(matchesKind(patterns, kind)).toBe(isIncluded);
        expect(kindsMatching(patterns).includes(kind)).toBe(isIncluded);
      }),
    );
  });

  it('never match the internal kind', () => {
    for (const one of ['*', 'access.*', ACCESS_CHANGED])
      expect(matchesKind([one], ACCESS_CHANGED)).toBe(false);
  });

  it('are accepted up to a hundred, without repeats', () => {
    fc.assert(
      fc.property(fc.array(pattern, { minLength: 1, maxLength: 100 }), (patterns) => {
        expect(EventTypes.parse(patterns)).toEqual([...new Set(patterns)]);
      }),
    );
  });

  it.each([
    [[]],
    [['creative']],
    [['creative.']],
    [['*.*']],
    [['access.changed']],
    [['access.*']],
    [['creative.deleted']],
    [['']],
    [Array.from({ length: 101 }, () => '*')],
  ])('refuse %j', (patterns) => {
    expect(EventTypes.safeParse(patterns).success).toBe(false);
  });
});
