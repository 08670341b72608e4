import { z } from 'zod';

/** What a credential may do (decisions.md 1.4, scopes). None of them implies another. */
export const Scope = z.enum(['exchange:read', 'exchange:write', 'exchange:admin', 'exchange:review']);
export type Scope = z.infer<typeof Scope>;

/** What a user is in the account. In a seller's account everybody is `seller`, elsewhere nobody is. */
export const Role = z.enum(['admin', 'member', 'seller']);
export type Role = z.infer<typeof Role>;

const scopes: Readonly<Record<Role, readonly Scope[]>> = {
  admin: ['exchange:read', 'exchange:write', 'exchange:admin'],
  member: ['exchange:read', 'exchange:write'],
  seller: ['exchange:review'],
};

/** All that a role allows: what a credential gets when nothing less is asked for. */
export const scopesOfRole = (role: Role): readonly Scope[] => scopes[role];
