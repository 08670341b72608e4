import type { ErrorCode } from './errors.ts';
import { limitOf, type AnyRoute } from './route.ts';

/** Codes that a route can answer with: those that its declaration implies, and `alsoRefuses`. */
export const errorsOfRoute = (route: AnyRoute): readonly ErrorCode[] => {
  const isPublic = route.access === 'public';
  const isWrite = 'handle' in route && route.method !== 'get';
  const takesBody = 'handle' in route && (route.body !== undefined || route.receive !== undefined);
  const codes: readonly (readonly [ErrorCode, boolean])[] = [
    ['BAD_REQUEST', true],
    ['VALIDATION_ERROR', true],
    ['UNAUTHORIZED', !isPublic || route.uploadToken === true],
    ['FORBIDDEN', !isPublic || route.firstParty === true],
    ['NOT_FOUND', route.path.includes('{')],
    ['CONFLICT', isWrite],
    ['IDEMPOTENCY_CONFLICT', isWrite],
    ['IDEMPOTENCY_IN_FLIGHT', isWrite],
    ['PAYLOAD_TOO_LARGE', takesBody],
    ['UNSUPPORTED_MEDIA_TYPE', takesBody],
    ['RATE_LIMITED', limitOf(route) !== 'none'],
    ['INTERNAL_ERROR', true],
    ['SERVICE_UNAVAILABLE', true],
  ];
  const implied = codes.filter(([, is]) => is).map(([code]) => code);
  return [...new Set([...implied, ...(route.alsoRefuses ?? [])])];
};
