import { allEvents, type AuditedStream, type CarriedMember } from '../all-events.ts';
import { ACCOUNT, firstUserId } from '../accounts/account.ts';
import { OAUTH_GRANT } from '../accounts/oauth-grant.ts';
import { SESSION } from '../accounts/session.ts';
import { ADVERTISER } from '../advertisers/advertiser.ts';
import { CAMPAIGN } from '../campaigns/campaign.ts';
import { CREATIVE_SESSION } from '../creative-sessions/creative-session.ts';
import { ENGINE_CONNECTION } from '../engines/engine-connection.ts';
import type { AuditedResource } from './audit-log-resource.ts';
import { otherCausesOf, type OtherCauses } from '../causation.ts';

const resources: ReadonlyMap<string, AuditedStream<AuditedResource>> = new Map(
  allEvents.flatMap(({ category, audited }) => (audited === undefined ? [] : [[category, audited]])),
);

export const auditedCategories: readonly string[] = [...resources.keys()];

/** True if the first event of a stream names the advertiser for all of them. */
export const carriesAdvertiser = (category: string): boolean =>
  resources.get(category)?.carries.includes('advertiserId') === true;

/** As far as the event itself contains them. */
export interface AuditedEvent {
  readonly resourceType: AuditedResource;
  readonly advertiserId: number | undefined;
  readonly campaignIds: readonly string[];
  readonly leaves: string | undefined;
  readonly part: string | undefined;
  /** Taken from the previous event of the stream if this one lacks them. */
  readonly carries: readonly CarriedMember[];
  readonly keyUserId: string | undefined;
  /** The stream to take missing members from. */
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
  const known = resources.get(category);
  if (known === undefined) return undefined;
  const { resourceType, carries } = known;
  const named = data['advertiserId'];
  const advertiserId = category === ADVERTISER ? Number(id) : named;
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
  if (category === ACCOUNT) return { ...event, ...ofAccount(customerId, type, data) };
  // Later events are caused by the user that they name.
  if (category === SESSION || category === OAUTH_GRANT) {
    return { ...event, part: id, keyUserId: text(data['userId']) };
  }
  if (category === ENGINE_CONNECTION) return { ...event, part: text(data['connectionId']) };
  return event;
};

/** A detached campaign still finds the entry. @param before campaigns before the event */
export const campaignsAfter = (
  before: readonly string[],
  { campaignIds, leaves }: Pick<AuditedEvent, 'campaignIds' | 'leaves'>,
): { readonly campaignIds: readonly string[]; readonly foundBy: readonly string[] } => {
  const all = new Set([...before, ...campaignIds]);
  const after = [...all].filter((id) => id !== leaves);
  return { campaignIds: after, foundBy: leaves === undefined ? after : [...after, leaves] };
};

const partsOfAccount: readonly (readonly [AuditedResource, string, RegExp])[] = [
  ['INVITATION', 'invitationId', /^(?:UserInvited|Invitation)/],
  ['BROWSER_ORIGIN', 'originId', /^BrowserOrigin/],
  ['USER', 'userId', /^(?:User|Password|Email|Totp|LookupCode)/],
];

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
  const [resourceType, member] = partsOfAccount.find(([, , name]) => name.test(type)) ?? ['ACCOUNT'];
  return { resourceType, part: member && text(data[member]), keyUserId: undefined };
};
