export interface NamedResource {
  readonly resourceType?: string;
  readonly resourceId?: string;
  readonly advertiserId?: number | string;
  /** What reads it. */
  readonly url?: string;
}

const pages: Readonly<Record<string, (id: string, advertiserId: string) => string>> = {
  ADVERTISER: (id) => `/advertisers/${id}`,
  CAMPAIGN: (id) => `/campaigns/${id}`,
  CREATIVE: (id) => `/creatives/${id}`,
  WEBHOOK_SUBSCRIPTION: (id) => `/webhooks/${id}`,
  SYNDICATION: (id, advertiserId) => `/syndication/${advertiserId}/${id}`,
  EVENT_SOURCE: (id, advertiserId) => `/event-sources/${id}?advertiserId=${advertiserId}`,
  ADCP_AGENT: (id) => `/agents/${id}`,
  AUDIENCE: (id, advertiserId) => `/audiences/${advertiserId}/${id}`,
  CATALOG: (id, advertiserId) => `/catalogs/${advertiserId}/${id}`,
  CONVERSIONS: (_, advertiserId) => `/conversions?advertiserId=${advertiserId}`,
  API_KEY: (id) => `/api-keys/${id}`,
  BROWSER_ORIGIN: (id) => `/browser-origins/${id}`,
  CONNECTED_APP: (id) => `/connected-apps/${id}`,
  INVITATION: (id) => `/invitations/${id}`,
  USER: (id) => `/members/${id}`,
  ASSET: (id, advertiserId) => `/assets/${advertiserId}/${id}`,
};

/** A round belongs to a campaign, which its id does not name. */
const proposalRequestIn = (url = ''): string | undefined =>
  /\/campaigns\/\w+\/proposal-requests\/\w+/.exec(url)?.[0];

/** The page of a resource, as the audit log and the events name it; undefined if it has none. */
export const resourceAddress = ({
  resourceType = '',
  resourceId,
  advertiserId = '',
  url,
}: NamedResource): string | undefined => {
  if (resourceId === undefined) return undefined;
  if (resourceType === 'PROPOSAL_REQUEST') return proposalRequestIn(url);
  return pages[resourceType]?.(encodeURIComponent(resourceId), String(advertiserId));
};
