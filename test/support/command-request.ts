import type { RequestContext } from '../../shared/http/route.ts';
import { randomId } from '../../shared/ids.ts';

/** A write as its handler sees it. @param commandId the same when it is sent again */
export const commandRequest = (
  customerId: number,
  commandId = randomId(),
  hasRunBefore = false,
): RequestContext => ({
  requestId: randomId(),
  principal: { customerId, actor: 'test', scopes: ['exchange:write'] },
  commandId,
  isRepeatable: true,
  bodyBytes: 0,
  reserved: {},
  hasRunBefore: async () => hasRunBefore,
  onEvents: () => undefined,
  isUnheard: () => false,
  isAbandoned: () => false,
});
