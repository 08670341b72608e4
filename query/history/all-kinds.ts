import type { AuditedKind } from '../resources/audited-kind.ts';
import type { ResourceReads } from '../resources/resource-reads.ts';
import {
  accountKind,
  apiKeyKind,
  browserOriginKind,
  connectedAppKind,
  invitationKind,
  userKind,
  userSessionKind,
} from '../accounts/history.ts';
import { advertiserKind } from '../advertisers/history.ts';
import { agentKind } from '../agents/history.ts';
import { assetKind } from '../assets/history.ts';
import { audienceKind } from '../audiences/history.ts';
import { campaignKind } from '../campaigns/history.ts';
import { catalogKind } from '../catalogs/history.ts';
import { sessionKind } from '../creative-sessions/history.ts';
import { creativeKind } from '../creatives/history.ts';
import { connectionKind } from '../engines/history.ts';
import { eventSourceKind } from '../event-sources/history.ts';
import { proposalRequestKind } from '../proposals/history.ts';
import { syndicationKind } from '../syndication/history.ts';
import { taskKind } from '../tasks/history.ts';
import { webhookSubscriptionKind } from '../webhooks/history.ts';

/** History, past states, differences, explanations and the audit log follow from a line here. */
export const auditedKinds = (
  reads: ResourceReads & { readonly baseUrl: () => string },
): readonly AuditedKind[] => {
  const assets = assetKind(reads.baseUrl);
  return [
    advertiserKind,
    campaignKind,
    creativeKind(assets, reads.baseUrl),
    sessionKind,
    assets,
    eventSourceKind(reads),
    audienceKind(reads),
    catalogKind,
    agentKind,
    syndicationKind,
    connectionKind,
    proposalRequestKind,
    taskKind,
    webhookSubscriptionKind,
    accountKind,
    apiKeyKind,
    userKind,
    invitationKind,
    browserOriginKind,
    connectedAppKind,
    userSessionKind,
  ];
};
