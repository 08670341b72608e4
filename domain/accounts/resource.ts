import { z } from 'zod';
import { Role, Scope } from './access.ts';

export const CurrentAccount = z
  .object({
    id: z.int(),
    company: z.string(),
    name: z.string(),
    role: Role,
    customerDomain: z.string().optional(),
  })
  .meta({ id: 'CurrentAccount' });

export const ApiKeyResource = z
  .object({
    id: z.string(),
    name: z.string(),
    maskedKey: z.string(),
    status: z.enum(['ACTIVE', 'EXPIRED', 'REVOKED']),
    scopes: z.array(Scope),
    expiresAt: z.string().optional(),
    lastUsedAt: z.string().optional().meta({ description: 'At most about a minute late.' }),
    createdAt: z.string(),
  })
  .meta({ id: 'ApiKey' });
export type ApiKeyResource = z.infer<typeof ApiKeyResource>;

/** The only answer that contains the key. */
export const NewApiKeyResource = z
  .object({ ...ApiKeyResource.shape, key: z.string().meta({ description: 'Shown only here.' }) })
  .meta({ id: 'NewApiKey' });
