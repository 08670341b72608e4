import { sellerDirectoryFold } from '../../domain/sellers/seller-directory.ts';
import { auditedKind } from '../resources/audited-kind.ts';

/** The directory belongs to no account and has no history in the API; details of creatives show names from it. */
export const sellersKind = auditedKind({
  ...sellerDirectoryFold,
  resourceType: 'CREATIVE',
  noun: 'seller directory',
  live: (directory) => directory,
  idOf: () => undefined,
  audited: (directory) => directory,
});
