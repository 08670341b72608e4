import { z } from 'zod';
import { Timestamp } from '../values.ts';
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

export const BrowserOriginResource = z
  .object({
    id: z.string(),
    customerId: z.int(),
    origin: z.string(),
    label: z.string().optional(),
    createdByUserId: z.string(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'BrowserOrigin' });
export type BrowserOriginResource = z.infer<typeof BrowserOriginResource>;

export const MemberResource = z
  .object({
    id: z.string(),
    name: z.string(),
    email: z.string().optional().meta({ description: 'Absent until the user has a login.' }),
    role: Role,
    lastSignInAt: Timestamp.optional(),
    createdAt: Timestamp,
  })
  .meta({ id: 'Member' });
export type MemberResource = z.infer<typeof MemberResource>;

export const InvitationResource = z
  .object({
    id: z.string(),
    email: z.string(),
    role: Role,
    status: z.enum(['OPEN', 'EXPIRED']),
    expiresAt: Timestamp,
    createdAt: Timestamp,
  })
  .meta({ id: 'Invitation' });
export type InvitationResource = z.infer<typeof InvitationResource>;
