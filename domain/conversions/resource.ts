import { z } from 'zod';
import { Health } from './events.ts';

export const BatchResultResource = z
  .strictObject({
    accepted: z.int(),
    rejected: z
      .array(z.strictObject({ index: z.int(), reason: z.string() }))
      .meta({ description: 'Ascending by index, the place in the request.' }),
    duplicates: z.int(),
    health: Health,
  })
  .meta({ id: 'ConversionBatchResult' });
