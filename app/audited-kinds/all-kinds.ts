import type { AuditedKind } from '../../query/history/audited-kind.ts';
import type { ResourceReads } from '../../query/resources/resource-reads.ts';
import { accountKind, apiKeyKind, userKind } from './account.ts';
import { advertiserKind } from '../../query/advertisers/history.ts';
import { agentKind } from '../../query/agents/history.ts';
import { assetKind } from './asset.ts';
import { audienceKind } from './audience.ts';
import { campaignKind } from '../../query/campaigns/history.ts';
import { catalogKind } from './catalog.ts';
import { sessionKind } from './creative-session.ts';
import { creativeKind } from './creative.ts';
import { connectionKind } from './engine-connection.ts';
import { eventSourceKind } from './event-source.ts';
import { syndicationKind } from './syndication.ts';
import { taskKind } from './task.ts';

/**
 * Everything whose changes are kept, each kind once; its file says how its stream becomes a state, what of the state is
 * shown, and where the API has it. History, states of the past, differences, explanations and the audit log follow from
 * a line here.
 */
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
    taskKind,
    accountKind,
    apiKeyKind,
    userKind,
  ];
};
