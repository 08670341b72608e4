import { z } from 'zod';
import { listOf } from '../values.ts';
import { Scope } from './access.ts';

export const ConnectedApp = z
  .object({
    grantId: z.string(),
    client: z.object({
      id: z.string(),
      name: z.string().meta({ description: 'As the client calls itself.' }),
      host: z
        .string()
        .optional()
        .meta({ description: "The host that publishes the client's metadata document." }),
    }),
    userId: z.string(),
    scopes: z.array(Scope),
    resources: z.array(z.string()),
    createdAt: z.string(),
    expiresAt: z.string(),
    lastUsedAt: z.string().optional().meta({ description: 'At most about a minute late.' }),
  })
  .meta({ id: 'ConnectedApp' });
export type ConnectedApp = z.infer<typeof ConnectedApp>;

/** What a user sees before deciding. */
export const ConsentRequest = z
  .object({
    client: z.object({
      id: z.string(),
      name: z.string().meta({ description: 'As the client calls itself: not verified.' }),
      host: z.string().optional(),
      isVerified: z.boolean().meta({ description: 'True only for clients that the operator has added.' }),
      registration: z.enum(['self', 'operator', 'metadata-document']),
    }),
    redirectHost: z.string().meta({ description: 'Where the code goes: a host, or a private scheme.' }),
    scopes: z
      .array(z.object({ scope: Scope, description: z.string() }))
      .meta({ description: "Those of the requested scopes that the user's role allows." }),
    resources: z.array(z.string()),
    lifetimeDays: z.int(),
    account: z.object({ company: z.string(), userName: z.string() }).optional(),
  })
  .meta({ id: 'ConsentRequest' });

export const ConsentDecision = z
  .object({
    decision: z.enum(['allow', 'deny']),
    scopes: listOf(Scope, 30).min(1).optional().meta({ description: 'Default: all that were shown.' }),
  })
  .meta({ id: 'ConsentDecision' });
