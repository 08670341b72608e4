import { firstUserId } from '../accounts/account.ts';
import { AGENT } from '../agents/agent.ts';
import { ASSET } from '../assets/asset.ts';
import { AUDIENCE } from '../audiences/audience.ts';
import { CAMPAIGN } from '../campaigns/campaign.ts';
import { CATALOG } from '../catalogs/catalog.ts';
import { CONVERSIONS } from '../conversions/conversion-events.ts';
import { CREATIVE_SESSION } from '../creative-sessions/creative-session.ts';
import { CREATIVE } from '../creatives/creative.ts';
import { ENGINE_CONNECTION } from '../engines/engine-connection.ts';
import { EVENT_SOURCE } from '../event-sources/event-source.ts';
import { PERSONAL_DATA } from '../personal-data/personal-data-events.ts';
import { SYNDICATION } from '../syndication/syndication.ts';
import { TASK } from '../tasks/task.ts';
import type { AuditedResource } from './audit-log-resource.ts';
import { otherCausesOf, type OtherCauses } from '../causation.ts';

type CarriedMember = 'advertiserId' | 'campaignIds' | 'part';

interface AuditedCategory {
  readonly resourceType: AuditedResource;
  /** Members that all events of a stream share, or that keep their value until an event changes them. */
  readonly carries: readonly CarriedMember[];
}

/**
 * Categories in the audit log. It leaves out streams that serve others: members of audiences and items of catalogs
 * (they are data, partly personal), reserved names, plans of syncs. It also leaves out the directory of sellers,
 * which belongs to no account.
 */
const resources: Readonly<Record<string, AuditedCategory>> = {
  advertiser: { resourceType: 'ADVERTISER', carries: [] },
  [CAMPAIGN]: { resourceType: 'CAMPAIGN', carries: ['advertiserId'] },
  [CREATIVE]: { resourceType: 'CREATIVE', carries: ['advertiserId', 'campaignIds'] },
  [CREATIVE_SESSION]: { resourceType: 'CREATIVE_SESSION', carries: ['advertiserId', 'campaignIds'] },
  [ASSET]: { resourceType: 'ASSET', carries: ['advertiserId'] },
  [EVENT_SOURCE]: { resourceType: 'EVENT_SOURCE', carries: ['advertiserId'] },
  [CONVERSIONS]: { resourceType: 'CONVERSIONS', carries: [] },
  [AUDIENCE]: { resourceType: 'AUDIENCE', carries: ['advertiserId'] },
  [CATALOG]: { resourceType: 'CATALOG', carries: ['advertiserId'] },
  [AGENT]: { resourceType: 'ADCP_AGENT', carries: [] },
  [SYNDICATION]: { resourceType: 'SYNDICATION', carries: ['advertiserId'] },
  [ENGINE_CONNECTION]: { resourceType: 'ENGINE_CONNECTION', carries: ['part'] },
  [TASK]: { resourceType: 'TASK', carries: [] },
  account: { resourceType: 'ACCOUNT', carries: [] },
  // Erasures belong to the account; they have no state to fold.
  [PERSONAL_DATA]: { resourceType: 'ACCOUNT', carries: [] },
};

export const auditedCategories: readonly string[] = Object.keys(resources);

/** The search columns of an audit log entry, as far as the event itself contains them. */
export interface AuditedEvent {
  readonly resourceType: AuditedResource;
  readonly advertiserId: number | undefined;
  readonly campaignIds: readonly string[];
  readonly leaves: string | undefined;
  readonly part: string | undefined;
  /** Members to take from the previous event of the stream if this one does not contain them. */
  readonly carries: readonly CarriedMember[];
  readonly keyUserId: string | undefined;
  /** Another stream to take missing members from. */
  readonly below: string | undefined;
  readonly alsoCausedBy: OtherCauses;
}

interface EventToAudit {
  readonly category: string;
  readonly customerId: number;
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** @returns undefined for a category that the audit log leaves out */
export const auditedEvent = ({
  category,
  customerId,
  id,
  type,
  data,
}: EventToAudit): AuditedEvent | undefined => {
  const known = resources[category];
  if (known === undefined) return undefined;
  const { resourceType, carries } = known;
  const named = data['advertiserId'];
  const advertiserId = category === 'advertiser' ? Number(id) : named;
  const campaignId = category === CAMPAIGN ? id : text(data['campaignId']);
  const isLeft = type === 'CreativeDetached';
  const event = {
    resourceType,
    advertiserId: Number.isSafeInteger(advertiserId) ? Number(advertiserId) : undefined,
    campaignIds: campaignId === undefined || isLeft ? [] : [campaignId],
    leaves: isLeft ? campaignId : undefined,
    part: undefined,
    carries,
    keyUserId: undefined,
    below: category === CREATIVE_SESSION ? `${CAMPAIGN}-${customerId}-${campaignId}` : undefined,
    alsoCausedBy: otherCausesOf(data['alsoCausedBy']),
  };
  if (category === 'account') return { ...event, ...ofAccount(customerId, type, data) };
  if (category === ENGINE_CONNECTION) return { ...event, part: text(data['connectionId']) };
  return event;
};

/**
 * The resource's campaigns after an event, and the campaigns that find its entry: also the one it leaves.
 * @param before campaigns before the event
 */
export const campaignsAfter = (
  before: readonly string[],
  { campaignIds, leaves }: Pick<AuditedEvent, 'campaignIds' | 'leaves'>,
): { readonly campaignIds: readonly string[]; readonly foundBy: readonly string[] } => {
  const all = new Set([...before, ...campaignIds]);
  const after = [...all].filter((id) => id !== leaves);
  return { campaignIds: after, foundBy: leaves === undefined ? after : [...after, leaves] };
};

const ofAccount = (
  customerId: number,
  type: string,
  data: EventToAudit['data'],
): Pick<AuditedEvent, 'resourceType' | 'part' | 'keyUserId'> => {
  if (type.startsWith('ApiKey')) {
    // The oldest keys name no user.
    const keyUserId = type === 'ApiKeyIssued' ? (text(data['userId']) ?? firstUserId(customerId)) : undefined;
    return { resourceType: 'API_KEY', part: text(data['keyId']), keyUserId };
  }
  const part = type.startsWith('User') ? text(data['userId']) : undefined;
  return { resourceType: part === undefined ? 'ACCOUNT' : 'USER', part, keyUserId: undefined };
};
