import { randomUUID } from 'node:crypto';
import type { RequestContext } from '../../shared/http/route.ts';

/** A write as its handler receives it. @param commandId the same for a repeat */
export const commandRequest = (
  customerId: number,
  commandId = randomUUID(),
  hasRunBefore = false,
): RequestContext => ({
  requestId: randomUUID(),
  principal: { customerId, actor: 'test', scopes: ['exchange:write'] },
  client: { address: '127.0.0.1', agent: undefined },
  commandId,
  isRepeatable: true,
  bodyBytes: 0,
  reserved: {},
  hasRunBefore: async () => hasRunBefore,
  onEvents: () => undefined,
  isClientGone: () => false,
  isAbandoned: () => false,
});
