/**
 * All paths without a rate limit (specification, Rate limits). The limiter and the OpenAPI document
 * use this list; a route at another path declares `limit: 'none'`. A trailing `/` includes everything below, even paths that do not exist.
 */
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

/**
 * True if no limit counts the request.
 * @param method in any case
 * @param path a request's path or a route's pattern
 */
export const isUncounted = (method: string, path: string): boolean =>
  isListed(UNCOUNTED, path) || (/^(?:get|head)$/i.test(method) && isListed(UNCOUNTED_READS, path));

const isListed = (list: readonly string[], path: string): boolean =>
  list.some((listed) => (listed.endsWith('/') ? path.startsWith(listed) : path === listed));
