import type { Authenticate } from '../../src/shared/http/authenticate.ts';
import { createClientAddress, type TrustedProxies } from '../../src/shared/http/client-address.ts';
import { createGate, type Gate } from '../../src/shared/http/gate.ts';
import { createFailedCredentials } from '../../src/shared/limits/failed-credentials.ts';
import { createLimiter } from '../../src/shared/limits/limiter.ts';
import type { Limits } from '../../src/shared/limits/limits.ts';
import { createMemoryCounters } from '../../src/shared/limits/memory-counters.ts';
import { generous } from './generous-limits.ts';

export interface MemoryGateOptions {
  readonly limits?: Limits;
  readonly trustedProxies?: TrustedProxies;
  /** Milliseconds; for tests that move time. */
  readonly nowMs?: () => number;
}

/** A gate that counts in this process alone. */
export const createMemoryGate = (
  authenticate: Authenticate,
  {
    limits = generous,
    trustedProxies = { hops: 0 },
    nowMs = () => performance.now(),
  }: MemoryGateOptions = {},
): Gate => {
  const counters = createMemoryCounters(nowMs);
  const limiter = createLimiter(limits, counters, nowMs);
  return createGate({
    authenticate,
    limiter,
    failedCredentials: createFailedCredentials(limiter, counters, nowMs),
    clientAddress: createClientAddress(trustedProxies),
  });
};
