/** How many requests one subject may make in one fixed window. */
export interface Limit {
  readonly requests: number;
  /** Whole seconds. */
  readonly windowSeconds: number;
}

/**
 * The rows of the specification's table of rate limits that a route of today is counted by, under the names that
 * routes and settings use. Each figure can be set otherwise (`LIMIT_*` in `config.ts`).
 */
export const specifiedLimits = {
  /** Each API key or OAuth token, REST and MCP. */
  credential: { requests: 100, windowSeconds: 60 },
  /** Each client address, for app sessions and anonymous calls. */
  address: { requests: 100, windowSeconds: 60 },
  /** Credentials that do not verify, per address. */
  unverified: { requests: 30, windowSeconds: 60 },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof specifiedLimits;

export type Limits = Readonly<Record<LimitName, Limit>>;

/** What a route may be counted in: everything but `unverified`, which counts credentials, not requests. */
export type RequestLimit = Exclude<LimitName, 'unverified'>;
