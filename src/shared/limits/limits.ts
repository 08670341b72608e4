/** How many requests one subject may make in one fixed window. */
export interface Limit {
  readonly requests: number;
  /** Whole seconds. */
  readonly windowSeconds: number;
}

/**
 * Every row of the specification's table of rate limits, by the name that routes and settings use. The figures
 * are the specification's; each can be set otherwise (`LIMIT_*` in `config.ts`).
 */
export const specifiedLimits = {
  /** Each API key or OAuth token, REST and MCP. */
  credential: { requests: 100, windowSeconds: 60 },
  /** Each client address, for app sessions and anonymous calls. */
  address: { requests: 100, windowSeconds: 60 },
  /** Sign-in and other `/auth/*` routes, per address. */
  auth: { requests: 40, windowSeconds: 900 },
  /** Signup, per address. */
  signup: { requests: 20, windowSeconds: 3_600 },
  /** Password reset (request, verify, reset), per address. */
  passwordReset: { requests: 12, windowSeconds: 3_600 },
  /** OAuth client registration, per address. */
  clientRegistration: { requests: 20, windowSeconds: 3_600 },
  /** `/auth/token` and `/auth/revoke`, per address. */
  token: { requests: 300, windowSeconds: 900 },
  /** Credentials that do not verify, per address. */
  unverified: { requests: 30, windowSeconds: 60 },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof specifiedLimits;

export type Limits = Readonly<Record<LimitName, Limit>>;

/** What a route may be counted in: everything but `unverified`, which counts credentials, not requests. */
export type RequestLimit = Exclude<LimitName, 'unverified'>;
