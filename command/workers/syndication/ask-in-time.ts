import { sleep } from '../../../shared/async/backoff.ts';
import { OutboundError } from '../../../shared/outbound/outbound-error.ts';
import { createOutboundLines } from '../../../shared/outbound/outbound-fetch.ts';
import type { OutboundPolicy } from '../../../shared/outbound/outbound-url.ts';
import type { AskCapabilities } from '../../agents/agent-capabilities.ts';

const BYTES_MAX = 1_000_000;

/** @param timeoutMs of the whole question, because a client waits; 0: agents are not asked */
export const askInTime = (outbound: OutboundPolicy, timeoutMs: number): AskCapabilities | undefined => {
  if (timeoutMs === 0) return undefined;
  const openLine = createOutboundLines({ ...outbound, timeoutMs, bytesMax: BYTES_MAX });
  // The client of agents takes time and memory to load, so the first registration loads it.
  const ask: AskCapabilities = async (agent) => {
    const { createAskCapabilities } = await import('./ask-capabilities.ts');
    return createAskCapabilities(openLine, timeoutMs)(agent);
  };
  // The time limit includes the loading.
  return (agent) => Promise.race([ask(agent), sleep(timeoutMs).then(() => silent)]);
};

const silent = { outcome: 'silent', reason: new OutboundError('unreachable').message } as const;
