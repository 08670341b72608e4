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

/** @param path of a request, or a route's pattern */
export const isUncounted = (method: string, path: string): boolean =>
  isListed(UNCOUNTED, path) || (/^(?:get|head)$/i.test(method) && isListed(UNCOUNTED_READS, path));

const isListed = (list: readonly string[], path: string): boolean =>
  list.some((listed) => (listed.endsWith('/') ? path.startsWith(listed) : path === listed));
