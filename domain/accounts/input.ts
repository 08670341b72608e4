import { z } from 'zod';
import { boundedText, instant, listOf } from '../values.ts';
import { Scope } from './access.ts';

export const CreateApiKeyBody = z
  .object({
    name: boundedText(1, 120),
    scopes: listOf(Scope, 30)
      .min(1)
      .optional()
      .meta({ description: "Default: all that the user's role allows." }),
    expiresAt: instant()
      .transform((epochMs) => new Date(epochMs).toISOString())
      .optional()
      .meta({ description: 'The key is refused from then on. Default: never.' }),
  })
  .meta({ id: 'CreateApiKey' });
