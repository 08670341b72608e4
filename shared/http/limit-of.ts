import type { RequestLimit } from '../limits/limits.ts';

/** Specification, Rate limits. A trailing `/` includes everything below, even paths that do not exist. */
const UNCOUNTED = [
  '/live',
  '/health',
  '/ready',
  '/metrics',
  '/openapi.json',
  '/openapi.yaml',
  '/skill.md',
  '/.well-known/',
] as const;

const UNCOUNTED_READS = ['/assets/'] as const;

const SIGN_IN = ['/auth/'] as const;

export type CountedIn = RequestLimit | 'none';

const isUncounted = (method: string, path: string): boolean =>
  isListed(UNCOUNTED, path) || (/^(?:get|head)$/i.test(method) && isListed(UNCOUNTED_READS, path));

/** Preflights count for the address on every path. @param path a route's pattern */
export const limitOfRoute = (method: string, path: string, limit: CountedIn): CountedIn => {
  if (isUncounted(method, path)) return 'none';
  return isPreflight(method) ? 'address' : limit;
};

/** The limit of a request that no route answers. */
export const limitOfPath = (method: string, path: string): CountedIn =>
  limitOfRoute(method, path, isListed(SIGN_IN, path) ? 'auth' : 'address');

const isPreflight = (method: string): boolean => /^options$/i.test(method);

const isListed = (list: readonly string[], path: string): boolean =>
  list.some((listed) => (listed.endsWith('/') ? path.startsWith(listed) : path === listed));
