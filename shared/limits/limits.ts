export interface Limit {
  readonly requests: number;
  readonly windowSeconds: number;
}

/** The specification's rate limits. Settings can change each figure (`LIMIT_*`, `config.ts`). */
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

/** The limits that a route can use; `unverified` counts credentials, not requests. */
export type RequestLimit = Exclude<LimitName, 'unverified'>;
