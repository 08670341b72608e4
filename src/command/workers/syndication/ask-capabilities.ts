import { SyncTask } from '../../../domain/agents/agent-events.ts';
import type { OpenOutboundLine } from '../../../shared/outbound/outbound-fetch.ts';
import { OutboundError } from '../../../shared/outbound/outbound-error.ts';
import { openA2aLink } from './a2a-link.ts';
import { refusesCredentials } from './agent-answers.ts';
import type { AgentCall } from './agent-call.ts';
import type { OpenLink } from './agent-link.ts';
import { openMcpLink } from './mcp-link.ts';

/** What an agent that somebody registers says of itself. Nothing of what its server says besides. */
export type AskedCapabilities =
  /** Those of AdCP's tasks that it offers. */
  | { readonly outcome: 'answered'; readonly tasks: readonly SyncTask[] }
  | { readonly outcome: 'credentials-refused' }
  /** Away, slow, or none that names its tasks: not told apart. */
  | { readonly outcome: 'unknown' };

export type AskCapabilities = (
  agent: Pick<AgentCall, 'agentUrl' | 'protocol' | 'token'>,
) => Promise<AskedCapabilities>;

const open: Readonly<Record<AgentCall['protocol'], OpenLink>> = { MCP: openMcpLink, A2A: openA2aLink };

/**
 * Asks an agent what it offers. Never throws for what the agent does.
 * @param timeoutMs of the whole question: somebody waits for the answer
 */
export const createAskCapabilities =
  (openLine: OpenOutboundLine, timeoutMs: number): AskCapabilities =>
  async ({ agentUrl, protocol, token }) => {
    const line = openLine();
    const signal = AbortSignal.timeout(timeoutMs);
    const late = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new OutboundError('unreachable')), { once: true });
    });
    late.catch(() => undefined);
    const opening = open[protocol]({ agentUrl, token }, { fetch: line.fetch, signal, timeoutMs });
    try {
      const { tasks } = await Promise.race([opening, late]);
      if (tasks === undefined) return { outcome: 'unknown' };
      return { outcome: 'answered', tasks: SyncTask.options.filter((task) => tasks.includes(task)) };
    } catch (error) {
      return { outcome: refusesCredentials(error) ? 'credentials-refused' : 'unknown' };
    } finally {
      void opening.then(
        (link) => link.close(),
        () => undefined,
      );
      line.close();
    }
  };
