import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { Role, Scope } from './access.ts';

/** The first user comes with the account (`firstUser`). With `sellerId` it is a seller's account: it cannot buy. */
const AccountOpened = z.object({
  customerId: z.int(),
  name: z.string(),
  sellerId: z.int().optional(),
  customerDomain: z.string().optional(),
});

/** Addresses are in no event: `user_addresses` and `invitations` contain them, and can be deleted. */
const UserAdded = z.object({
  userId: z.string(),
  name: z.string(),
  role: Role,
  invitationId: z.string().optional(),
});

const UserRoleChanged = z.object({ userId: z.string(), role: Role });

/** Without `invitedBy`: the operator. */
const UserInvited = z.object({
  invitationId: z.string(),
  role: Role,
  invitedBy: z.string().optional(),
});

const InvitationRevoked = z.object({ invitationId: z.string() });

/** Without key and hash. Old events name no user (the first one), or no scopes (all of the role). */
const ApiKeyIssued = z.object({
  keyId: z.string(),
  name: z.string(),
  maskedKey: z.string(),
  userId: z.string().optional(),
  scopes: z.array(Scope).optional(),
  expiresAt: z.string().optional(),
});

const ApiKeyRevoked = z.object({ keyId: z.string() });

const BrowserOriginRegistered = z.object({
  originId: z.string(),
  origin: z.string(),
  label: z.string().optional(),
  userId: z.string(),
});

const BrowserOriginRemoved = z.object({ originId: z.string() });
export const PasswordSource = z.enum(['sign-up', 'invitation', 'link', 'change', 'reset']);
export type PasswordSource = z.infer<typeof PasswordSource>;

/** Events name the user only: addresses, hashes and codes can be deleted, events cannot. */
const OfUser = z.object({ userId: z.string() });
const PasswordSet = z.object({ userId: z.string(), by: PasswordSource });

const NoData = z.object({});

/** Version 2 adds role and scope of sellers: a program that supports version 1 only parks the stream. */
const withSellers = { schemaVersion: 2, upcasters: [<Data>(data: Data): Data => data] } as const;

export const accountEvents = {
  AccountOpened: { schemaVersion: 1, data: AccountOpened },
  AccountDisabled: { schemaVersion: 1, data: NoData },
  AccountEnabled: { schemaVersion: 1, data: NoData },
  UserAdded: { ...withSellers, data: UserAdded },
  UserRoleChanged: { schemaVersion: 1, data: UserRoleChanged },
  UserRemoved: { schemaVersion: 1, data: OfUser },
  UserLinkIssued: { schemaVersion: 1, data: OfUser },
  UserInvited: { schemaVersion: 1, data: UserInvited },
  InvitationRevoked: { schemaVersion: 1, data: InvitationRevoked },
  BrowserOriginRegistered: { schemaVersion: 1, data: BrowserOriginRegistered },
  BrowserOriginRemoved: { schemaVersion: 1, data: BrowserOriginRemoved },
  ApiKeyIssued: { ...withSellers, data: ApiKeyIssued },
  ApiKeyRevoked: { schemaVersion: 1, data: ApiKeyRevoked },
  PasswordSet: { schemaVersion: 1, data: PasswordSet },
  EmailVerified: { schemaVersion: 1, data: OfUser },
  TotpEnabled: { schemaVersion: 1, data: OfUser },
  TotpDisabled: { schemaVersion: 1, data: OfUser },
  LookupCodeUsed: { schemaVersion: 1, data: OfUser },
} as const;

export type AccountEvent = EventsOf<typeof accountEvents>;
