import { describe, expect, it } from '@jest/globals';
import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import { apiErrorOf } from '../../shared/http/api-error-of.ts';

describe('an error that a route throws', () => {
  it('becomes the cause of a refusal, for the log; the response body does not contain its message', () => {
    for (const cause of [new TypeError('x is not a function'), new EventStoreUnavailableError('socket')]) {
      const refusal = apiErrorOf(cause);
      expect(refusal.cause).toBe(cause);
      expect(JSON.stringify(refusal.body)).not.toContain(cause.message);
    }
  });
});
