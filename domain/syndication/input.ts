import { z } from 'zod';
import { boundedText } from '../values.ts';
import { ResourceType } from './resource.ts';

export const ToggleSyndicationBody = z
  .object({
    resourceType: ResourceType.optional().meta({ description: 'Default: found by the resourceId.' }),
    resourceId: boundedText(1, 256),
    adcpAgentIds: z
      .array(boundedText(1, 100))
      .min(1)
      .max(100)
      .refine((ids) => new Set(ids).size === ids.length, 'must name each agent once'),
    enabled: z.boolean(),
  })
  .meta({ id: 'ToggleSyndication' });
