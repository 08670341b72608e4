import { accept, refuse, type Decision } from '../decision.ts';
import type { AccountEvent } from './events.ts';

/** Specification, Authentication, rule 7. */
const ORIGINS_MAX = 50;

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1']);

/**
 * As browsers send it: lower case, without a default port. Wildcards are not supported, so `*` is refused.
 * @returns undefined if the text is no such origin
 */
export const browserOriginOf = (text: string): string | undefined => {
  if (!/^https?:\/\/[^/?#@\\*\s]+$/i.test(text) || !URL.canParse(text)) return undefined;
  const { protocol, hostname, origin } = new URL(text);
  return protocol === 'https:' || LOOPBACK.has(hostname) ? origin : undefined;
};

/** Origins by their ids. */
export type Origins = Readonly<Record<string, string>>;

export interface RegisterOrigin {
  readonly type: 'RegisterOrigin';
  readonly now: string;
  readonly originId: string;
  readonly origin: string;
  readonly label?: string | undefined;
  readonly userId: string;
}

export interface RemoveOrigin {
  readonly type: 'RemoveOrigin';
  readonly now: string;
  readonly originId: string;
}

export type OriginRefusal =
  | { readonly reason: 'no-such-origin' }
  | { readonly reason: 'origin-registered'; readonly originId: string }
  | { readonly reason: 'too-many-origins'; readonly limit: number; readonly active: number };

type OriginDecision = Decision<AccountEvent, OriginRefusal>;

export const registerOrigin = (
  { now: occurredAt, originId, origin, label, userId }: RegisterOrigin,
  origins: Origins,
): OriginDecision => {
  const same = Object.entries(origins).find(([, one]) => one === origin);
  if (same !== undefined) return refuse({ reason: 'origin-registered', originId: same[0] });
  const active = Object.keys(origins).length;
  if (active >= ORIGINS_MAX) return refuse({ reason: 'too-many-origins', limit: ORIGINS_MAX, active });
  const data = { originId, origin, ...(label === undefined ? {} : { label }), userId };
  return accept({ type: 'BrowserOriginRegistered', data, occurredAt });
};

export const removeOrigin = (
  { now: occurredAt, originId }: RemoveOrigin,
  origins: Origins,
): OriginDecision =>
  Object.hasOwn(origins, originId)
    ? accept({ type: 'BrowserOriginRemoved', data: { originId }, occurredAt })
    : refuse({ reason: 'no-such-origin' });
