import type { Sealer } from '../secrets/api-key.ts';

/** What a route may ask for (decisions.md 1.4, scopes). */
export type Scope = 'exchange:read' | 'exchange:write' | 'exchange:admin' | 'exchange:review';

/** Who a request comes from, once its credential is verified. */
export interface Principal {
  /** The account; 0 for the anonymous principal. */
  readonly customerId: number;
  /** For event metadata, logs and limits: `api-key:<key id>`. Never a secret; another one for each credential. */
  readonly actor: string;
  /** What the credential may do: its own scopes, as far as its user's role still allows them. */
  readonly scopes: readonly Scope[];
  /** Whose credential it is; absent for the anonymous principal. */
  readonly user?: { readonly id: string; readonly role: 'admin' | 'member' | 'seller' };
  /** Of the credential: what only its holder may read later. */
  readonly sealer?: Sealer;
  /** Of the account's data when the credential was looked up; absent: no answer comes from memory. */
  readonly version?: AccountVersion;
}

/** Where the data of an account stood (`accountVersionSql`): while the text is the same, no read model has changed. */
export interface AccountVersion {
  readonly text: string;
  /** `performance.now()` before the database was asked for it. */
  readonly askedAt: number;
}

/** Whose a credential is, whatever it may do. */
export type Holder = Pick<Principal, 'customerId' | 'actor' | 'user'>;

export const anonymous: Principal = { customerId: 0, actor: 'anonymous', scopes: [] };

/** What became of a request's credential. */
export type Verification =
  | { readonly outcome: 'verified'; readonly principal: Principal }
  /**
   * Unknown, revoked or malformed: they look the same from outside. `holder` is whose it was, of one that was good
   * once: its account may know that it was used.
   */
  | { readonly outcome: 'rejected'; readonly holder?: Holder }
  /** An access token that was valid once: its client refreshes it (specification, Authentication, rule 5). */
  | { readonly outcome: 'expired' };

/**
 * Verifies the credential of `Authorization: Bearer <credential>`.
 * @param connection what a credential is made of may be remembered with it, for as long as it is open; never that
 *   it verified
 * @throws when the credential store cannot be asked: the kernel answers 503, never "allow" and never 401
 */
export type VerifyCredential = (credential: string, connection: object) => Promise<Verification>;
