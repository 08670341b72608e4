import type { Api } from '../support/api-client.ts';
import { PathValue, Reference } from './known-ids.ts';
import { gif, jpeg, mp4, png, webpExtended, webpLossless, webpLossy } from '../support/sample-media.ts';
import type { GivenMembers } from './valid-value.ts';

/** A thing that exists before the run, for paths that no answer of the service leads to. */
export interface GivenResource {
  /** The path of one such thing as the document has it, e.g. `/x/{id}/parts/{partId}`; or of an operation that needs others. */
  readonly path: string;
  /** Makes one. @returns the values of the path's parameters */
  make(api: Api): Promise<readonly string[]>;
}

/**
 * Needed only where the run finds nothing by itself: it calls every operation with what the schemas say and learns the
 * ids of what came of it (`known-ids.ts`).
 */
export const resources: readonly GivenResource[] = [
  // Archived ones, since only they can be restored, and none is left of what the run archives itself.
  ...['One', 'Two'].map((name) => ({
    path: '/api/v2/buyer/advertisers/{id}/restore',
    make: async (api: Api) => {
      const { id } = (await api.post<{ id: number }>('/advertisers', { name })).body.data;
      await api.delete(`/advertisers/${id}`);
      return [String(id)];
    },
  })),
  // One that can be submitted: what schemas say of creatives seldom is complete.
  { path: '/api/v2/buyer/creatives/{cid}', make: async (api) => [await makeReady(api)] },
  // Open ones, with variants: whatever the run finds it soon finalizes.
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
  // Several, since the run archives what it finds.
  ...[1, 2, 3, 1, 2, 3].map((seller) => ({
    path: '/api/v2/buyer/creatives/{cid}/sellers/{sellerId}/review',
    make: async (api: Api) => {
      const creativeId = await makeReady(api);
      await api.post(`/creatives/${creativeId}/submit`, { sellerIds: [seller] });
      return [creativeId, String(seller)];
    },
  })),
];

/** A complete creative below a sandbox advertiser. */
const makeReady = async (api: Api): Promise<string> => {
  const made = async (path: string, body: object): Promise<string | number> =>
    (await api.post<{ id: string | number }>(path, body)).body.data.id;
  const advertiserId = await made('/advertisers', { name: 'Sandbox', sandbox: true });
  const tag = { formatKind: 'display_tag', copy: { tag: '<b></b>' } };
  return String(await made(`/advertisers/${advertiserId}/creatives/create`, tag));
};

/** Members and parameters whose rule is more than their schema. */
export const members: GivenMembers = {
  preferredTimezone: ['Europe/Berlin', 'America/Argentina/Buenos_Aires', 'UTC'],
  brand: ['acme.com', 'https://www.acme.com/shop?x=1'],
  brandDomain: ['acme.com'],
  // Of a sync: the advertiser that its path names.
  account_id: [new PathValue(0)],
  // Of an agent: nobody calls it while the service is fuzzed by itself, but its form is looked at.
  url: ['https://agent.example.com/mcp'],
  // Called like its advertiser: so there is one of that name only, and it is known wherever a path names the advertiser.
  event_source_id: [new PathValue(0)],
  // Within the days that are accepted: or nothing behind it is looked at.
  eventTime: [new Date(Date.now() - 3_600_000).toISOString()],
  // Of an upload: what some of the bytes below are taken as, and, twice as often, what all of them are.
  mimeType: ['image/png', 'text/plain', 'application/octet-stream', 'application/octet-stream'],
  range: ['bytes=0-3', 'bytes=-4', 'bytes=4-', 'bytes=999999-', 'bytes=0-1,3-4'],
  // Of an engine: one that the sandbox takes.
  apiKey: ['sbx_fuzzed', 'sbx_accounts-60_fuzzed'],
  // What ends a session: every other time only, so that some are left whose variants can be refined.
  variantId: [new Reference('variantId', 0, false, 'var_none', false), 'var_none'],
  resourceType: ['EVENT_SOURCE'],
  resourceId: [new PathValue(0)],
  // Resources that the run has just created; 4: a campaign after execute, pause and reactivate.
  expectedRevision: [1, 2, 4],
  // Points in the history of a thing.
  // Lists take a time only.
  asOf: ['2100-01-01T00:00:00Z', '1'],
  from: ['0', '1', '2020-01-01T00:00:00Z'],
  to: ['1', '2100-01-01T00:00:00Z'],
  // Those that come with the program.
  sellerIds: [[1], [2, 3]],
  adcpAgentIds: [[new Reference('adcpAgentId', 0, false, 'agt_none', false)]],
};

/** Bodies of what takes bytes: of each form that is looked into, so that what is malformed of it is, too. */
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
