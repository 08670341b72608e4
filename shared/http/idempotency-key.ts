import type { IncomingMessage } from 'node:http';
import { ApiError } from './errors.ts';

/** Specification, Other bounds. */
export const IDEMPOTENCY_KEY = /^[A-Za-z0-9_.:-]{16,255}$/;

/** @throws ApiError VALIDATION_ERROR */
export const idempotencyKeyOf = (request: IncomingMessage): string | undefined =>
  checkIdempotencyKey(request.headersDistinct['idempotency-key'] ?? []);

/** @throws ApiError VALIDATION_ERROR */
export const checkIdempotencyKey = (given: readonly string[]): string | undefined => {
  const [key] = given;
  if (key === undefined) return undefined;
  if (given.length === 1 && IDEMPOTENCY_KEY.test(key)) return key;
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: 'Send one Idempotency-Key of 16 to 255 letters, digits, "_", ".", ":" or "-".',
    field: 'Idempotency-Key',
  });
};
