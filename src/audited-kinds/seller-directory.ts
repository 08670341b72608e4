import { SELLERS, sellerDirectoryDecider } from '../domain/sellers/seller-directory.ts';
import { sellerEvents } from '../domain/sellers/seller-events.ts';
import { auditedKind } from '../query/history/audited-kind.ts';

/** The directory belongs to no account: nobody asks for its history, and details of creatives show names from it. */
export const sellersKind = auditedKind({
  category: SELLERS,
  resourceType: 'CREATIVE',
  noun: 'seller directory',
  events: sellerEvents,
  decider: sellerDirectoryDecider,
  live: (directory) => directory,
  idOf: () => undefined,
  audited: (directory) => directory,
});
