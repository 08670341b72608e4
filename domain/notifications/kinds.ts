import type { Notification } from './notification.ts';

interface Kind {
  readonly description: string;
  readonly resourceType: string;
  readonly example: KindExample;
  /** Its stream is not the resource's, so no `asOf` reads the state at the event. */
  readonly linksToPresent?: true;
}

type KindExample = Pick<Notification, 'resourceId' | 'revision' | 'changed' | 'path'> & {
  readonly advertiserId?: number;
};

const buyer = '/api/v2/buyer';

const advertiser = (revision: number, ...changed: readonly string[]): KindExample => ({
  resourceId: '12345',
  advertiserId: 12_345,
  revision,
  changed,
  path: `${buyer}/advertisers/12345`,
});

const campaign = (revision: number, ...changed: readonly string[]): KindExample => ({
  resourceId: 'cmp_5b2c0e7d9f134a86b1d05c3e8a7f2640',
  advertiserId: 12_345,
  revision,
  changed,
  path: `${buyer}/campaigns/cmp_5b2c0e7d9f134a86b1d05c3e8a7f2640`,
});

const creative = (revision: number, ...changed: readonly string[]): KindExample => ({
  resourceId: 'cre_0d4f6a1c83e75b29a6c41f8e2b9d7305',
  advertiserId: 12_345,
  revision,
  changed,
  path: `${buyer}/creatives/cre_0d4f6a1c83e75b29a6c41f8e2b9d7305/detail`,
});

const task = (taskId: string): KindExample => ({
  resourceId: taskId,
  advertiserId: 12_345,
  revision: 1,
  changed: [],
  path: `${buyer}/tasks/${taskId}`,
});

const proposalRequest = (revision: number, ...changed: readonly string[]): KindExample => ({
  resourceId: 'prq_9c4f7a1e2d6b5830a1c7e94b0d52f6e8',
  advertiserId: 12_345,
  revision,
  changed,
  path: `${buyer}/campaigns/cmp_5b2c0e7d9f134a86b1d05c3e8a7f2640/proposal-requests/prq_9c4f7a1e2d6b5830a1c7e94b0d52f6e8`,
});

const kindOf = (resourceType: string, description: string, example: KindExample): Kind => ({
  resourceType,
  description,
  example,
});

/** What clients can subscribe to. Each kind is made by at least one event (`all-notifications.ts`). */
export const notificationKinds = {
  'advertiser.created': kindOf('ADVERTISER', 'An advertiser was created.', advertiser(1)),
  'advertiser.updated': kindOf(
    'ADVERTISER',
    'Members of an advertiser changed, or its frequency caps were replaced.',
    advertiser(4, 'name', 'channels'),
  ),
  'advertiser.archived': kindOf('ADVERTISER', 'An advertiser was archived.', advertiser(5, 'status')),
  'advertiser.restored': kindOf(
    'ADVERTISER',
    'An archived advertiser was restored.',
    advertiser(6, 'status'),
  ),
  'campaign.created': kindOf('CAMPAIGN', 'A campaign was created, as a draft.', campaign(1)),
  'campaign.updated': kindOf('CAMPAIGN', 'Members of a campaign changed.', campaign(2, 'budget', 'flight')),
  'campaign.phase_changed': kindOf(
    'CAMPAIGN',
    'A campaign was launched, paused, reactivated, completed or archived.',
    campaign(3, 'phase'),
  ),
  'creative.created': kindOf('CREATIVE', 'A creative was created.', creative(1)),
  'creative.updated': kindOf(
    'CREATIVE',
    'Members of a creative changed, it was promoted, or it was attached to a campaign or detached from one.',
    creative(2, 'copy', 'state'),
  ),
  'creative.archived': kindOf(
    'CREATIVE',
    'A creative was archived, also by detaching it from its last campaign.',
    creative(5, 'state'),
  ),
  'creative.review_status_changed': kindOf(
    'CREATIVE',
    'A creative was submitted to sellers, or a seller has reviewed it.',
    creative(4, 'sellerStatuses'),
  ),
  'proposal_request.completed': kindOf(
    'PROPOSAL_REQUEST',
    'Every seller of a proposal request has answered, or its time is over.',
    proposalRequest(12, 'status', 'completedAt', 'summary', 'perSeller'),
  ),
  'proposal_request.updated': kindOf(
    'PROPOSAL_REQUEST',
    'A seller answered a proposal request after its time. The status of the request is as before.',
    proposalRequest(13, 'summary', 'perSeller'),
  ),
  'event_source.health_changed': {
    ...kindOf(
      'EVENT_SOURCE',
      'The `health.status` of an event source is another one after a call with events. `url` answers with the present state, also of the health.',
      {
        resourceId: 'web-shop',
        advertiserId: 12_345,
        revision: 42,
        changed: ['health'],
        path: `${buyer}/event-sources/web-shop?advertiserId=12345`,
      },
    ),
    linksToPresent: true,
  },
  'syndication.status_changed': kindOf(
    'SYNDICATION',
    'The delivery of an audience, event source or catalog to an agent has another status.',
    {
      resourceId: 'syn_7c1e9b3f52d84a06957be0c4d1f8a632',
      advertiserId: 12_345,
      revision: 3,
      changed: ['status', 'errorMessage', 'responseData', 'completedAt'],
      path: undefined,
    },
  ),
  'syndication.attempt_failed': kindOf(
    'SYNDICATION',
    'An attempt to deliver to an agent failed, and another one follows: `errorMessage` of the record says why.',
    {
      resourceId: 'syn_7c1e9b3f52d84a06957be0c4d1f8a632',
      advertiserId: 12_345,
      revision: 3,
      changed: ['errorMessage'],
      path: undefined,
    },
  ),
  'syndication.withdrawn': kindOf(
    'SYNDICATION',
    'After syndication was switched off, the agent has deleted the resource, or could not be asked to.',
    {
      resourceId: 'syn_7c1e9b3f52d84a06957be0c4d1f8a632',
      advertiserId: 12_345,
      revision: 6,
      changed: ['responseData'],
      path: undefined,
    },
  ),
  'task.completed': kindOf(
    'TASK',
    'A task of the account has completed.',
    task('8a5e1c7f-3b2d-5f49-9e06-d4c7b1a0f283'),
  ),
  'task.failed': kindOf(
    'TASK',
    'A task of the account has failed.',
    task('1f7d3a92-6c0e-5b84-8d15-e2b9c4f07a61'),
  ),
  'webhook_subscription.status_changed': kindOf(
    'WEBHOOK_SUBSCRIPTION',
    'A webhook subscription was paused or enabled, or the service has disabled it.',
    {
      resourceId: 'whs_2e8b5d0a7f9c4136a4d7c1e6f03b9582',
      revision: 2,
      changed: ['status', 'statusReason', 'statusMessage'],
      path: `${buyer}/webhook-subscriptions/whs_2e8b5d0a7f9c4136a4d7c1e6f03b9582`,
    },
  ),
} as const satisfies Readonly<Record<string, Kind>>;

export type PublicKind = keyof typeof notificationKinds;

export const publicKinds = Object.keys(notificationKinds) as readonly PublicKind[];

/** A credential or its rights have ended: open streams check theirs again. Clients never see it. */
export const ACCESS_CHANGED = 'access.changed';

const kinds: Readonly<Record<string, Kind>> = notificationKinds;

/** False: the link asks for the state at the event. */
export const linksToPresent = (kind: string): boolean => kinds[kind]?.linksToPresent === true;

export interface ExampleNotification extends Notification {
  readonly advertiserId: number | undefined;
}

/** For documents and test deliveries. */
export const exampleNotification = (kind: PublicKind): ExampleNotification => {
  const { resourceType, example } = notificationKinds[kind];
  return { advertiserId: undefined, ...(example satisfies KindExample), kind, resourceType };
};
