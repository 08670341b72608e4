import type { Authenticate } from '../../shared/http/authenticate.ts';
import { createClientAddress, type TrustedProxies } from '../../shared/http/client-address.ts';
import { createGate, type Gate } from '../../shared/http/gate.ts';
import type { Limits } from '../../shared/limits/limits.ts';
import { createLocalRateLimits } from '../../shared/limits/rate-limits.ts';
import { generous } from './generous-limits.ts';

export interface MemoryGateOptions {
  readonly limits?: Limits;
  readonly trustedProxies?: TrustedProxies;
}

/** A gate with counters in this process only. */
export const createMemoryGate = (
  authenticate: Authenticate,
  { limits = generous, trustedProxies = { hops: 0 } }: MemoryGateOptions = {},
): Gate =>
  createGate({
    authenticate,
    ...createLocalRateLimits(limits),
    clientAddress: createClientAddress(trustedProxies),
  });
