import { z } from 'zod';

/** What a credential may do (decisions.md 1.4, scopes). None of them implies another. */
export const Scope = z.enum(['exchange:read', 'exchange:write', 'exchange:admin']);
export type Scope = z.infer<typeof Scope>;

/** What a user is in the account. */
export const Role = z.enum(['admin', 'member']);
export type Role = z.infer<typeof Role>;

/** All that a role allows: what a credential gets when nothing less is asked for. */
export const scopesOfRole = (role: Role): readonly Scope[] =>
  role === 'admin' ? Scope.options : ['exchange:read', 'exchange:write'];
