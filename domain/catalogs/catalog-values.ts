import { z } from 'zod';

/** AdCP 3.0, enum catalog-type. */
export const CatalogType = z.enum([
  'offering',
  'product',
  'inventory',
  'store',
  'promotion',
  'hotel',
  'flight',
  'job',
  'vehicle',
  'real_estate',
  'education',
  'destination',
  'app',
]);

/** AdCP 3.0, enum feed-format. */
export const FeedFormat = z.enum([
  'google_merchant_center',
  'facebook_catalog',
  'shopify',
  'linkedin_jobs',
  'custom',
]);

/** AdCP 3.0, enum update-frequency. */
export const UpdateFrequency = z.enum(['realtime', 'hourly', 'daily', 'weekly']);
