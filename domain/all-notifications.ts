import type { AnyEvent } from './all-events.ts';
import { shownCampaignId } from './campaigns/resource.ts';
import { shownCreativeId } from './creatives/resource.ts';
import { ACCESS_CHANGED, type PublicKind } from './notifications/kinds.ts';
import { shownExecutionId } from './proposals/resource.ts';
import { shownSyndicationId } from './syndication/resource.ts';
import { taskError } from './tasks/resource.ts';
import { shownWebhookId } from './webhooks/resource.ts';

/** Which notification each event makes (`notifications/notifications-of.ts`). Without a line, types fail. */

type EventType = AnyEvent['type'];
type DataOf<Type extends EventType> = Extract<AnyEvent, { readonly type: Type }>['data'];

/** `changed`: names as the API shows them, without `revision` and `updatedAt`, which every event changes. */
export interface KindAndChanges {
  readonly kind: PublicKind | typeof ACCESS_CHANGED;
  readonly changed: readonly string[];
}

/** Events without a notification. */
export const silent = [
  'AccountOpened',
  'AccountEnabled',
  'UserAdded',
  'UserLinkIssued',
  'UserInvited',
  'InvitationRevoked',
  'BrowserOriginRegistered',
  'BrowserOriginRemoved',
  'ApiKeyIssued',
  'PasswordSet',
  'EmailVerified',
  'TotpEnabled',
  'TotpDisabled',
  'LookupCodeUsed',
  'SessionStarted',
  'OAuthClientAuthorized',
  'AgentRegistered',
  'AgentUnreachable',
  'AgentAnswered',
  'AgentRemoved',
  'AssetReserved',
  'AssetUploaded',
  'AssetReservationExpired',
  'AssetRemoved',
  'AudienceSynced',
  'AudienceMembersForgotten',
  'AudienceArchived',
  'AudienceMembersStored',
  'CatalogPublished',
  'CatalogArchived',
  'CatalogFeedAsked',
  'CatalogFeedRead',
  'CatalogFeedFailed',
  'CatalogItemsStored',
  'CreativeNameClaimed',
  'CreativeNameReleased',
  'CreativeSessionStarted',
  'CreativeVariantRefined',
  'CreativeVariantsEvaluated',
  'CreativeSessionFinalized',
  'EngineConnected',
  'EngineRekeyed',
  'EngineAccountSelected',
  'EngineAccountMapped',
  'EngineDisconnected',
  'EventSourceCreated',
  'EventSourceUpdated',
  'EventSourceArchived',
  'EventSourceRestored',
  'PersonalDataForgotten',
  'ResourceSyncPlanned',
  'SellerAdded',
  'SellerChanged',
  // The agent has taken the task: the status is SYNCING as before.
  'SyndicationSubmitted',
  'WebhookSubscriptionCreated',
  'WebhookSubscriptionUpdated',
  'WebhookSecretRotated',
  'WebhookSubscriptionDeleted',
  'WebhookTestRequested',
  'WebhookRedeliveryRequested',
  'WebhookRecoveryRequested',
  'WebhookReplayRequested',
  'WebhookSlotClaimed',
  'WebhookSlotReleased',
  'ProposalsRequested',
  // The answers of a round are in the notification of its end.
  'SellerTaskAccepted',
  'SellerAnswered',
  'SellerTimedOut',
  'SellerFailed',
  'ProposalSlotClaimed',
  'ProposalSlotReleased',
  // Figures change all day: reports show them.
  'SellerDeliveryReported',
] as const satisfies readonly EventType[];

/** Undefined: this one event makes none. */
type Rules = {
  readonly [Type in Exclude<EventType, (typeof silent)[number]>]: (
    data: DataOf<Type>,
  ) => KindAndChanges | undefined;
};

const tell =
  (kind: KindAndChanges['kind'], ...changed: readonly string[]) =>
  (): KindAndChanges => ({ kind, changed });

const access = tell(ACCESS_CHANGED);
const phase = tell('campaign.phase_changed', 'phase');
const reviews = tell('creative.review_status_changed', 'sellerStatuses');
const syndication = (...changed: readonly string[]) =>
  tell('syndication.status_changed', 'status', ...changed);
const webhookStatus = tell('webhook_subscription.status_changed', 'status', 'statusReason', 'statusMessage');

export const notificationRules: Rules = {
  AdvertiserCreated: tell('advertiser.created'),
  AdvertiserUpdated: ({ changes }) => ({ kind: 'advertiser.updated', changed: Object.keys(changes) }),
  AdvertiserFrequencyCapsReplaced: tell('advertiser.updated', 'frequencyCaps'),
  AdvertiserCurrencyLocked: tell('advertiser.updated', 'currencyLocked'),
  AdvertiserArchived: tell('advertiser.archived', 'status'),
  AdvertiserRestored: tell('advertiser.restored', 'status'),
  CampaignCreated: tell('campaign.created'),
  CampaignUpdated: ({ changes }) => ({ kind: 'campaign.updated', changed: Object.keys(changes) }),
  CampaignLaunched: phase,
  CampaignPaused: phase,
  CampaignReactivated: phase,
  CampaignCompleted: phase,
  CampaignArchived: phase,
  CreativeCreated: tell('creative.created'),
  CreativeUpdated: ({ changes, frequencyCaps }) => ({
    kind: 'creative.updated',
    changed: [...Object.keys(changes), ...(frequencyCaps === undefined ? [] : ['frequencyCaps'])],
  }),
  CreativeAttached: tell('creative.updated', 'campaigns'),
  CreativeDetached: ({ archives }) =>
    archives
      ? { kind: 'creative.archived', changed: ['campaigns', 'state'] }
      : { kind: 'creative.updated', changed: ['campaigns'] },
  CreativePromoted: tell('creative.updated', 'promoted', 'role'),
  CreativeArchived: tell('creative.archived', 'state'),
  CreativeSubmitted: reviews,
  CreativeReviewed: reviews,
  SyndicationToggled: syndication('enabled', 'errorMessage', 'responseData', 'completedAt'),
  SyndicationRefreshed: syndication('errorMessage', 'responseData', 'completedAt'),
  SyndicationStarted: syndication('errorMessage'),
  SyndicationCompleted: syndication('errorMessage', 'responseData', 'completedAt'),
  SyndicationRetried: tell('syndication.attempt_failed', 'errorMessage'),
  SyndicationFailed: syndication('errorMessage'),
  SyndicationWithdrawn: tell('syndication.withdrawn', 'responseData'),
  // The client has sent the rest itself, and there are too many.
  ConversionsLogged: ({ healthChange }) =>
    healthChange && { kind: 'event_source.health_changed', changed: ['health'] },
  TaskAccepted: (task) => ({
    kind: taskError(task) === null ? 'task.completed' : 'task.failed',
    changed: [],
  }),
  WebhookSubscriptionPaused: webhookStatus,
  WebhookSubscriptionDisabled: webhookStatus,
  WebhookSubscriptionEnabled: webhookStatus,
  ProposalRequestCompleted: tell(
    'proposal_request.completed',
    'status',
    'completedAt',
    'summary',
    'perSeller',
  ),
  LateAnswerRecorded: tell('proposal_request.updated', 'summary', 'perSeller'),
  AccountDisabled: access,
  UserRoleChanged: access,
  UserRemoved: access,
  ApiKeyRevoked: access,
  SessionEnded: access,
  OAuthGrantRevoked: access,
};

/** Events of this type are large and many, and those without the member make no notification: consumers skip them. */
export const notifiedOnlyWith = {
  type: 'ConversionsLogged',
  member: 'healthChange' satisfies keyof DataOf<'ConversionsLogged'>,
} as const;

/** The data of the event, as the rule of its type has checked it. */
type EventData = Readonly<Record<string, unknown>>;

interface ShownResource {
  /** From the id in the stream's name. */
  readonly shownId: (id: string, data: EventData) => string;
  /** Undefined: the API has no read of one. */
  readonly path: ((shownId: string, data: EventData) => string) | undefined;
}

const asItIs = (id: string): string => id;
const keyOfSource = (_id: string, { healthChange }: EventData): string =>
  (healthChange as NonNullable<DataOf<'ConversionsLogged'>['healthChange']>).eventSourceId;
const buyer = '/api/v2/buyer';

/** By category. Notifications of other categories are internal. */
export const shownResources: ReadonlyMap<string, ShownResource> = new Map([
  ['advertiser', { shownId: asItIs, path: (id) => `${buyer}/advertisers/${id}` }],
  ['campaign', { shownId: shownCampaignId, path: (id) => `${buyer}/campaigns/${id}` }],
  ['creative', { shownId: shownCreativeId, path: (id) => `${buyer}/creatives/${id}/detail` }],
  ['syndication', { shownId: shownSyndicationId, path: undefined }],
  [
    'proposalRequest',
    {
      shownId: shownExecutionId,
      path: (id, { campaignId }) =>
        `${buyer}/campaigns/${shownCampaignId(String(campaignId))}/proposal-requests/${id}`,
    },
  ],
  [
    'conversions',
    {
      shownId: keyOfSource,
      path: (key, { advertiserId }) =>
        `${buyer}/event-sources/${encodeURIComponent(key)}?advertiserId=${String(advertiserId)}`,
    },
  ],
  ['task', { shownId: asItIs, path: (id) => `${buyer}/tasks/${id}` }],
  ['webhook', { shownId: shownWebhookId, path: (id) => `${buyer}/webhook-subscriptions/${id}` }],
] satisfies readonly (readonly [string, ShownResource])[]);
