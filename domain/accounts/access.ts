import { z } from 'zod';

/** No scope implies another. */
export const Scope = z.enum(['exchange:read', 'exchange:write', 'exchange:admin', 'exchange:review']);
export type Scope = z.infer<typeof Scope>;

/** Users of a seller's account have the role `seller`; other users never do. */
export const Role = z.enum(['admin', 'member', 'seller']);
export type Role = z.infer<typeof Role>;

const scopes: Readonly<Record<Role, readonly Scope[]>> = {
  admin: ['exchange:read', 'exchange:write', 'exchange:admin'],
  member: ['exchange:read', 'exchange:write'],
  seller: ['exchange:review'],
};

/** The default for a new credential. */
export const scopesOfRole = (role: Role): readonly Scope[] => scopes[role];
