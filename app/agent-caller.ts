import type { CallAgent } from '../command/workers/syndication/agent-call.ts';
import { systemClock as clock } from '../shared/async/clock.ts';
import { createOutboundLines } from '../shared/outbound/outbound-fetch.ts';
import { outboundPolicyOf, type Config } from './config.ts';

/** The largest answer of a seller. AdCP advises callers to read at most 5 MB. */
export const SELLER_BYTES_MAX = 5_000_000;

interface Bounds {
  /** The longest time for one call, ms. */
  readonly callMs: number;
  /** The largest answer. */
  readonly bytesMax: number;
}

/** Calls agents at allowed addresses only. Their client takes time and memory to load: the first call does it. */
export const createAgentCaller = (config: Config, { callMs, bytesMax }: Bounds): CallAgent => {
  const openLine = createOutboundLines({ ...outboundPolicyOf(config), timeoutMs: callMs, bytesMax });
  return async (call) => {
    const { createAdcpAgent } = await import('../command/workers/syndication/adcp-agent.ts');
    return createAdcpAgent({ openLine, callMs, clock })(call);
  };
};
