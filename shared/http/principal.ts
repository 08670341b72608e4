import type { Sealer } from '../secrets/api-key.ts';

export type Scope = 'exchange:read' | 'exchange:write' | 'exchange:admin' | 'exchange:review';

export interface Principal {
  /** The account; 0 for the anonymous principal. */
  readonly customerId: number;
  /** For event metadata, logs and limits: `api-key:<key id>`. Unique for each credential, never a secret. */
  readonly actor: string;
  /** The credential's scopes that its user's role still allows. */
  readonly scopes: readonly Scope[];
  /** The credential's user; absent for the anonymous principal. */
  readonly user?: { readonly id: string; readonly role: string };
  /** Encrypts text for this credential, so that only its holder can read it later. */
  readonly sealer?: Sealer;
  /** Version when the credential was looked up; absent: no answer comes from memory. */
  readonly version?: AccountVersion;
}

/** While the text is unchanged, so are all read models of the account (`accountVersionSql`). */
export interface AccountVersion {
  readonly text: string;
  /** `performance.now()` before the query. */
  readonly askedAt: number;
}

export type Holder = Pick<Principal, 'customerId' | 'actor' | 'user'>;

export const anonymous: Principal = { customerId: 0, actor: 'anonymous', scopes: [] };

export type Verification =
  | { readonly outcome: 'verified'; readonly principal: Principal }
  /** `holder` is set if the credential was valid once: its account may see that it was used. */
  | { readonly outcome: 'rejected'; readonly holder?: Holder }
  /** The client can refresh the access token (specification, Authentication, rule 5). */
  | { readonly outcome: 'expired' };

/**
 * Verifies the credential of `Authorization: Bearer <credential>`.
 * @param connection data derived from the credential may be cached while it is open; never the result
 * @throws if the credential store is unavailable: the kernel answers 503, never 401
 */
export type VerifyCredential = (credential: string, connection: object) => Promise<Verification>;
