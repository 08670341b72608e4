import { describe, expect, it } from '@jest/globals';
import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import { apiErrorOf } from '../../shared/http/api-error-of.ts';

describe('what was thrown beneath a route', () => {
  it('becomes a refusal that keeps it for the log and says nothing of it', () => {
    for (const cause of [new TypeError('x is not a function'), new EventStoreUnavailableError('socket')]) {
      const refusal = apiErrorOf(cause);
      expect(refusal.cause).toBe(cause);
      expect(JSON.stringify(refusal.body)).not.toContain(cause.message);
    }
  });
});
