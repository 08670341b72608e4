import { sellerDirectoryFold } from '../../domain/sellers/seller-directory.ts';
import { auditedKind } from '../resources/audited-kind.ts';

/** No account's, so without history in the API; details of creatives show its names. */
export const sellersKind = auditedKind({
  ...sellerDirectoryFold,
  resourceType: 'CREATIVE',
  noun: 'seller directory',
  live: (directory) => directory,
  idOf: () => undefined,
  audited: (directory) => directory,
});
