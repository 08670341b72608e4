import { readdirSync } from 'node:fs';
import type { Api } from '../support/api-client.ts';
import { upload } from '../support/uploads.ts';
import { PathValue, Reference } from './known-ids.ts';
import { gif, jpeg, mp4, png, webpExtended, webpLossless, webpLossy } from '../support/sample-media.ts';
import type { GivenMembers } from './valid-value.ts';

/** A resource that is created before the run, because no answer of the service leads to its id. */
export interface GivenResource {
  /**
   * The document's path of one such resource, e.g. `/x/{id}/parts/{partId}`, or of an operation that needs a special
   * one.
   */
  readonly path: string;
  /** @returns the values of the path's parameters */
  make(api: Api): Promise<readonly string[]>;
}

/**
 * Needed only where the run cannot find ids itself: it calls every operation with values from the schemas and learns
 * the ids in the answers (`known-ids.ts`).
 */
export const resources: readonly GivenResource[] = [
  // A file that no answer of the API names.
  { path: '/guides/{file}', make: async () => ['campaigns.md'] },
  {
    path: '/docs/assets/{file}',
    make: async () => readdirSync('dist/api-reference').map((name) => name.replace('.gz', '')),
  },
  { path: '/console/assets/{file}', make: async () => readdirSync('dist/console/assets').slice(0, 1) },
  // Archived advertisers: only they can be restored, and the run restores those that it archived itself.
  ...['One', 'Two'].map((name) => ({
    path: '/api/v2/buyer/advertisers/{id}/restore',
    make: async (api: Api) => {
      const { id } = (await api.post<{ id: number }>('/advertisers', { name })).body.data;
      await api.delete(`/advertisers/${id}`);
      return [String(id)];
    },
  })),
  // A creative that can be submitted: values from the schemas alone seldom make it complete.
  { path: '/api/v2/buyer/creatives/{cid}', make: async (api) => [await makeReady(api)] },
  // Open sessions with variants: the run soon finalizes the sessions that it knows.
  ...['One', 'Two', 'Three'].map((title) => ({
    path: '/api/v2/buyer/campaigns/{id}/creative-sessions/{sid}/variants/{variantId}/refine',
    make: async (api: Api) => {
      const { id } = (await api.post<{ id: number }>('/advertisers', { name: 'Sessions' })).body.data;
      const campaign = await api.post<{ id: string }>('/campaigns', { advertiserId: id, name: title });
      const path = `/campaigns/${campaign.body.data.id}/creative-sessions`;
      const session = (await api.post<{ id: string }>(path, { title })).body.data.id;
      const { variants } = (await api.get<{ variants: { id: string }[] }>(`${path}/${session}`)).body.data;
      return [campaign.body.data.id, session, variants[0]?.id ?? ''];
    },
  })),
  // Ended executions: the built-in sellers have no agent. An account has one that runs.
  ...['One', 'Two'].map((name) => ({
    path: '/api/v2/buyer/campaigns/{id}/proposal-requests/{executionId}',
    make: async (api: Api) => {
      const { id } = (await api.post<{ id: number }>('/advertisers', { name: 'Proposals' })).body.data;
      const campaign = await api.post<{ id: string }>('/campaigns', { advertiserId: id, name });
      const path = `/campaigns/${campaign.body.data.id}/proposal-requests`;
      const asked = await api.post<{ executionId: string }>(path, { sellerIds: [1] });
      return [campaign.body.data.id, asked.body.data.executionId];
    },
  })),
  // Deliveries of test events: a subscription that delivers is needed.
  ...['One', 'Two'].map((description) => ({
    path: '/api/v2/buyer/webhook-subscriptions/{id}/deliveries/{deliveryId}',
    make: async (api: Api) => {
      const path = '/webhook-subscriptions';
      const body = { url: 'https://hooks.example.com/', eventTypes: ['*'], description };
      const made = await api.post<{ subscription: { id: string } }>(path, body);
      const { id } = made.body.data.subscription;
      const test = { type: 'creative.updated' };
      const { deliveryId } = (await api.post<{ deliveryId: string }>(`${path}/${id}/test`, test)).body.data;
      return [id, deliveryId];
    },
  })),
  // The bytes from the schemas seldom fit the reservation that they are sent to, and the run deletes assets.
  ...['One', 'Two'].map((name) => ({
    path: '/api/v2/buyer/advertisers/{id}/assets/{assetId}',
    make: async (api: Api) => {
      const { id } = (await api.post<{ id: number }>('/advertisers', { name: 'Assets' })).body.data;
      const { assetId } = await upload(api, id, { name, mimeType: 'image/png' }, png(300, 250));
      return [String(id), assetId];
    },
  })),
  // Assets whose ids the run does not know: it may delete all others before it reads one.
  ...['One', 'Two'].map((name) => ({
    path: '/assets/{storageKey}',
    make: async (api: Api) => {
      const { id } = (await api.post<{ id: number }>('/advertisers', { name: 'Files' })).body.data;
      const { assetId } = await upload(api, id, { name, mimeType: 'image/png' }, png(300, 250));
      const asset = await api.get<{ storageKey: string }>(`/advertisers/${id}/assets/${assetId}`);
      return [asset.body.data.storageKey];
    },
  })),
  // Several, since the run archives reviews.
  ...[1, 2, 3, 1, 2, 3].map((seller) => ({
    path: '/api/v2/buyer/creatives/{cid}/sellers/{sellerId}/review',
    make: async (api: Api) => {
      const creativeId = await makeReady(api);
      await api.post(`/creatives/${creativeId}/submit`, { sellerIds: [seller] });
      return [creativeId, String(seller)];
    },
  })),
];

/**
 * Their success needs a secret that no answer contains, e.g. of a mail or of an authenticator, or would end the session
 * that the run uses. Their own suites have the successes (`sign-in`, `two-factor`, `oauth.e2e` and others).
 */
export const refusedOnly: ReadonlySet<string> = new Set([
  'acceptInvitation',
  'changePassword',
  'confirmTotp',
  'decideConsent',
  'disableTotp',
  'endOtherSessions',
  'getConsentRequest',
  'resetPassword',
  'setUp',
  'signIn',
  'signOut',
  'startTotp',
  'verifyEmail',
  'verifyPasswordReset',
]);

/** @returns the id of a complete creative of a sandbox advertiser */
const makeReady = async (api: Api): Promise<string> => {
  const made = async (path: string, body: object): Promise<string | number> =>
    (await api.post<{ id: string | number }>(path, body)).body.data.id;
  const advertiserId = await made('/advertisers', { name: 'Sandbox', sandbox: true });
  const tag = { formatKind: 'display_tag', copy: { tag: '<b></b>' } };
  return String(await made(`/advertisers/${advertiserId}/creatives/create`, tag));
};

/** Values for members and parameters whose rule is stricter than their schema. */
export const members: GivenMembers = {
  preferredTimezone: ['Europe/Berlin', 'America/Argentina/Buenos_Aires', 'UTC'],
  brand: ['acme.com', 'https://www.acme.com/shop?x=1'],
  brandDomain: ['acme.com'],
  // In a sync, the account is the advertiser in the path.
  account_id: [new PathValue(0)],
  // An agent's address. The fuzzed service never calls it, but validates its form.
  url: ['https://agent.example.com/mcp'],
  // The event source has the same key as its advertiser. So it is unique, and every path that names the advertiser
  // leads to it.
  event_source_id: [new PathValue(0)],
  // Within the accepted days: other times are refused before any later check.
  eventTime: [new Date(Date.now() - 3_600_000).toISOString()],
  // For an upload: types of some of the bytes below. The type that fits all of them appears twice.
  mimeType: ['image/png', 'text/plain', 'application/octet-stream', 'application/octet-stream'],
  range: ['bytes=0-3', 'bytes=-4', 'bytes=4-', 'bytes=999999-', 'bytes=0-1,3-4'],
  // An API key that the sandbox engine accepts.
  apiKey: ['sbx_fuzzed', 'sbx_accounts-60_fuzzed'],
  // The variant that ends a session. Half of the values end none, so that some sessions keep variants to refine.
  variantId: [new Reference('variantId', 0, false, 'var_none', false), 'var_none'],
  resourceType: ['EVENT_SOURCE'],
  resourceId: [new PathValue(0)],
  // For newly created resources. 4 is the revision of a campaign after execute, pause and reactivate.
  expectedRevision: [1, 2, 4],
  expectedCampaignRevision: [1, 2, 4],
  // Points in the history of a resource. Lists accept only a time.
  asOf: ['2100-01-01T00:00:00Z', '1'],
  from: ['0', '1', '2020-01-01T00:00:00Z'],
  to: ['1', '2100-01-01T00:00:00Z'],
  // The built-in sellers.
  sellerIds: [[1], [2, 3]],
  // For a report: the newest days. Other ranges are refused before any later check.
  startDate: [new Date(Date.now() - 7 * 86_400_000).toISOString().slice(0, 10)],
  endDate: [new Date().toISOString().slice(0, 10)],
  lifetime: ['false'],
  metrics: ['spend', 'impressions,conversions,roas'],
  dimensions: ['date,campaign', 'event_source'],
  // Times of events that are kept.
  since: [new Date(Date.now() - 3_600_000).toISOString()],
  until: [new Date(Date.now() - 60_000).toISOString()],
  secret: ['a-signing-secret-of-the-fuzz', `whsec_${'A'.repeat(43)}=`],
  advertiserIds: [[new Reference('advertiserId', 0, false, 1, true)]],
  adcpAgentIds: [[new Reference('adcpAgentId', 0, false, 'agt_none', false)]],
};

/** Upload bodies of each format that the service inspects. Mutations make malformed files of them. */
export const bytes: readonly Uint8Array[] = [
  png(300, 250),
  gif(300, 250),
  jpeg(300, 250),
  webpExtended(300, 250),
  webpLossless(300, 250),
  webpLossy(300, 250),
  mp4(),
  Buffer.from('Buy now, pay later'),
];
