export interface Limit {
  readonly requests: number;
  readonly windowSeconds: number;
}

/** Settings can change each figure (`LIMIT_*`, `config.ts`). */
export const specifiedLimits = {
  /** API key or OAuth token, REST and MCP. */
  credential: { requests: 100, windowSeconds: 60 },
  /** Client address, for app sessions and anonymous calls. */
  address: { requests: 100, windowSeconds: 60 },
  unverified: { requests: 30, windowSeconds: 60 },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof specifiedLimits;

export type Limits = Readonly<Record<LimitName, Limit>>;

export type RequestLimit = Exclude<LimitName, 'unverified'>;
