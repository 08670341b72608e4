export interface Limit {
  readonly requests: number;
  readonly windowSeconds: number;
}

const minutes = 60;
const hours = 60 * minutes;

/** Settings can change each figure (`LIMIT_*`, `config.ts`). */
export const specifiedLimits = {
  /** API key or OAuth token, REST and MCP. */
  credential: { requests: 100, windowSeconds: 1 * minutes },
  /** Client address, for app sessions and anonymous calls. The following limits count by address, too. */
  address: { requests: 100, windowSeconds: 1 * minutes },
  unverified: { requests: 30, windowSeconds: 1 * minutes },
  /** Sign-in, and all paths below `/auth/` that no other limit counts. */
  auth: { requests: 40, windowSeconds: 15 * minutes },
  signUp: { requests: 20, windowSeconds: 1 * hours },
  passwordReset: { requests: 12, windowSeconds: 1 * hours },
  clientRegistration: { requests: 20, windowSeconds: 1 * hours },
  token: { requests: 300, windowSeconds: 15 * minutes },
  /** Invitations of one account: each sends a mail, also if it is revoked at once. */
  invitations: { requests: 100, windowSeconds: 24 * hours },
  /** Invitations of one account to one address. */
  invitedAddress: { requests: 1, windowSeconds: 1 * hours },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof specifiedLimits;

export type Limits = Readonly<Record<LimitName, Limit>>;

/** The others count something else. */
export type RequestLimit = Exclude<LimitName, 'unverified' | 'invitations' | 'invitedAddress'>;

/** One value for each limit. */
export const forEachLimit = <Value>(
  limits: Limits,
  valueOf: (name: LimitName, limit: Limit) => Value,
): Readonly<Record<LimitName, Value>> =>
  Object.fromEntries(
    (Object.keys(specifiedLimits) as LimitName[]).map((name) => [name, valueOf(name, limits[name])]),
  ) as Record<LimitName, Value>;
