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
  /** What is the same of all events of a stream, or stays until one says otherwise. */
  readonly carries: readonly CarriedMember[];
}

/**
 * Categories of the streams whose events the audit log has. Left out is what serves another stream: members of audiences
 * and items of catalogs (they are data, of persons too), names that are held, plans of syncs; and the directory of
 * sellers, which is no account's.
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
  // What was forgotten is told of the account; it has no state that could be folded.
  [PERSONAL_DATA]: { resourceType: 'ACCOUNT', carries: [] },
};

export const auditedCategories: readonly string[] = Object.keys(resources);

/** What an entry of the audit log is found by; each as far as the event says so itself. */
export interface AuditedEvent {
  readonly resourceType: AuditedResource;
  readonly advertiserId: number | undefined;
  /** UUIDs of the campaigns that it is in from this event on, as far as the event says so. */
  readonly campaignIds: readonly string[];
  /** UUID of the one that it leaves. */
  readonly leaves: string | undefined;
  /** Which of the things that share the stream. */
  readonly part: string | undefined;
  /** What it has from the event before it in the stream when it does not say it. */
  readonly carries: readonly CarriedMember[];
  /** Whose key it is, where one was issued. */
  readonly keyUserId: string | undefined;
  /** Another stream whose events say what none of this one does. */
  readonly below: string | undefined;
  readonly alsoCausedBy: OtherCauses;
}

interface Said {
  readonly category: string;
  readonly customerId: number;
  /** What follows category and account in the stream's name. */
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Undefined for a category that the audit log leaves out. */
export const auditedEvent = ({ category, customerId, id, type, data }: Said): AuditedEvent | undefined => {
  const known = resources[category];
  if (known === undefined) return undefined;
  const { resourceType, carries } = known;
  const said = data['advertiserId'];
  const advertiserId = category === 'advertiser' ? Number(id) : said;
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
 * The campaigns of a thing after an event, and those that the event is found by: the one that it leaves, too.
 * @param before the event
 */
export const campaignsAfter = (
  before: readonly string[],
  { campaignIds, leaves }: Pick<AuditedEvent, 'campaignIds' | 'leaves'>,
): { readonly campaignIds: readonly string[]; readonly foundBy: readonly string[] } => {
  const all = new Set([...before, ...campaignIds]);
  const after = [...all].filter((id) => id !== leaves);
  return { campaignIds: after, foundBy: leaves === undefined ? after : [...after, leaves] };
};

/** An account's keys and users share its stream. */
const ofAccount = (
  customerId: number,
  type: string,
  data: Said['data'],
): Pick<AuditedEvent, 'resourceType' | 'part' | 'keyUserId'> => {
  if (type.startsWith('ApiKey')) {
    // The first keys ever issued name no user.
    const keyUserId = type === 'ApiKeyIssued' ? (text(data['userId']) ?? firstUserId(customerId)) : undefined;
    return { resourceType: 'API_KEY', part: text(data['keyId']), keyUserId };
  }
  const part = type.startsWith('User') ? text(data['userId']) : undefined;
  return { resourceType: part === undefined ? 'ACCOUNT' : 'USER', part, keyUserId: undefined };
};
