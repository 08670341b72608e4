import { unavailable } from '../../shared/http/errors.ts';
import { ReadModelBehindError } from '../../shared/follow-log/consistent-read.ts';

/** Never the old answer: the caller has been told that its write is done. */
export const behind = (error: unknown): never => {
  if (!(error instanceof ReadModelBehindError)) throw error;
  throw unavailable('Your last change is not visible yet. Repeat the request after Retry-After.');
};
