import { unavailable } from '../../shared/http/errors.ts';
import { ReadModelBehindError } from '../../shared/follow-log/consistent-read.ts';

/** Answers 503 instead of old data: the service has confirmed the client's write. */
export const refuseIfBehind = (error: unknown): never => {
  if (!(error instanceof ReadModelBehindError)) throw error;
  throw unavailable('Your last change is not visible yet. Repeat the request after Retry-After.');
};
