/**
 * Every path that no rate limit counts (specification, Rate limits): probes of the process, its metrics, and documents
 * that anybody may read. The only list: the limiter, the OpenAPI document and docs/limits.md follow it. A path that ends
 * with `/` stands for everything below it, also for what does not exist there.
 */
const UNCOUNTED = [
  '/live',
  '/health',
  '/ready',
  '/metrics',
  '/openapi.json',
  '/openapi.yaml',
  '/skill.md',
  '/api/v2/buyer/openapi.yaml',
  '/api/v2/buyer/skill.md',
  '/.well-known/',
] as const;

/** The same for requests that only read: to write there is counted. */
const UNCOUNTED_READS = ['/assets/'] as const;

/**
 * Whether no limit counts a request.
 * @param method in any case
 * @param path a request's, or a route's pattern
 */
export const isUncounted = (method: string, path: string): boolean =>
  isListed(UNCOUNTED, path) || (/^(?:get|head)$/i.test(method) && isListed(UNCOUNTED_READS, path));

const isListed = (list: readonly string[], path: string): boolean =>
  list.some((listed) => (listed.endsWith('/') ? path.startsWith(listed) : path === listed));
