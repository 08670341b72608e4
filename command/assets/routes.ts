import type { Route } from '../../shared/http/route.ts';
import type { AssetWrites } from './asset-writes.ts';
import { removeRoute } from './remove-route.ts';
import { reserveRoute } from './reserve-route.ts';
import { uploadRoutes } from './upload-routes.ts';

/** Endpoints 12 and 13 of the specification; reservation and deletion of decisions.md section 2. */
export const assetWriteRoutes = (writes: AssetWrites): readonly Route[] => [
  reserveRoute(writes),
  ...uploadRoutes(writes),
  removeRoute(writes),
];
