import { UnknownEventVersionError } from '../aggregate/event-versions.ts';
import { CommandAbandonedError, TooManyConflictsError } from '../aggregate/execute-command.ts';
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../event-store/event-store.ts';
import { isPostgresUnavailable } from '../postgres/postgres-unavailable.ts';
import { ObjectStoreUnavailableError } from '../storage/object-store.ts';
import { ApiError, unavailable, ClientGoneError } from './errors.ts';

export const isUnavailable = (error: unknown): boolean =>
  error instanceof EventStoreUnavailableError ||
  error instanceof ObjectStoreUnavailableError ||
  isPostgresUnavailable(error);

/** A read stopped because its client was gone: nothing has failed. */
export const isClientGoneError = ({ cause }: ApiError): boolean => cause instanceof ClientGoneError;

/** An unknown error is a bug: 500, its message only goes to the log. */
export const apiErrorOf = (error: unknown): ApiError => {
  if (error instanceof ApiError) return error;
  if (error instanceof AppendOutcomeUnknownError) {
    return unavailable(
      'The change may or may not have been made. Repeat the request with the same Idempotency-Key: it is never made twice.',
      1,
      error,
    );
  }
  if (isUnavailable(error)) {
    return unavailable(
      'A store behind the service cannot be reached. Repeat the request after Retry-After.',
      1,
      error,
    );
  }
  if (error instanceof CommandAbandonedError) {
    return unavailable(
      'The request was given up before it began. Repeat it with the same Idempotency-Key.',
      1,
      error,
    );
  }
  if (error instanceof ClientGoneError) {
    return unavailable('The request was given up. Repeat it.', 1, error);
  }
  if (error instanceof UnknownEventVersionError) {
    return unavailable(
      'A newer version of the service has changed this object, and this one cannot read it. Repeat the request after Retry-After.',
      5,
      error,
    );
  }
  if (error instanceof TooManyConflictsError) {
    return new ApiError({
      code: 'CONFLICT',
      message: 'Too many changes of this object at once. Read it again and repeat the change.',
    });
  }
  return new ApiError(
    {
      code: 'INTERNAL_ERROR',
      message: 'The service failed to answer. Report the X-Request-Id of this response.',
    },
    {},
    error,
  );
};
