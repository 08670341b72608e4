import type { Sealer } from '../secrets/api-key.ts';

export type Scope = 'exchange:read' | 'exchange:write' | 'exchange:admin' | 'exchange:review';

export type CredentialKind = 'api-key' | 'access-token' | 'session';

export interface Principal {
  /** Absent: anonymous, or not from a request. */
  readonly kind?: CredentialKind;
  /** 0 for the anonymous principal. */
  readonly customerId: number;
  /** For event metadata and logs, e.g. `api-key:<key id>`. Never a secret. */
  readonly actor: string;
  /** What the limit of credentials counts. Default: the actor. Never a secret. */
  readonly subject?: string;
  readonly scopes: readonly Scope[];
  readonly user?: { readonly id: string; readonly role: string };
  /** Only the holder of this credential can read the text later. */
  readonly sealer?: Sealer;
  /** When the credential expires, from `performance.now()`. Absent: it does not. */
  readonly expiresAtMs?: number;
  /** Absent: no answer comes from memory. */
  readonly version?: AccountVersion;
}

/** While the text is unchanged, so are all read models of the account (`accountVersionSql`). */
export interface AccountVersion {
  readonly text: string;
  readonly askedAt: number;
}

export type Holder = Pick<Principal, 'customerId' | 'actor' | 'user'>;

export const anonymous: Principal = { customerId: 0, actor: 'anonymous', scopes: [] };

export interface VerifiedPrincipal extends Principal {
  readonly kind: CredentialKind;
}

export type Verification =
  | { readonly outcome: 'verified'; readonly principal: VerifiedPrincipal }
  /** Set if the credential was valid once: its account may see that it was used. */
  | { readonly outcome: 'rejected'; readonly holder?: Holder }
  /** The client can refresh the access token (specification, Authentication, rule 5). */
  | { readonly outcome: 'expired' };

/** A result must not be cached. @throws if the store is unavailable: the answer is 503, never 401 */
export type VerifyCredential = (credential: string, connection: object) => Promise<Verification>;

/** @param resource path of the protected resource: a token for another one is `rejected` */
export type VerifyAccessToken = (
  token: string,
  connection: object,
  resource: string,
) => Promise<Verification>;
