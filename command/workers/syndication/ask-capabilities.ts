import { SyncTask } from '../../../domain/agents/agent-resource.ts';
import type { OpenOutboundLine } from '../../../shared/outbound/outbound-fetch.ts';
import { OutboundError } from '../../../shared/outbound/outbound-error.ts';
import { timeoutSignal } from '../../../shared/async/timeout.ts';
import { openA2aLink } from './a2a-link.ts';
import { answerOfError, refusesCredentials } from './agent-answers.ts';
import type { AgentCall } from './agent-call.ts';
import type { OpenLink } from './agent-link.ts';
import { openMcpLink } from './mcp-link.ts';

/** What an agent that somebody registers says of itself. Nothing of what its server says besides. */
export type AskedCapabilities =
  /** Those of AdCP's tasks that it offers; undefined of one that does not name its tasks. */
  | { readonly outcome: 'answered'; readonly tasks: readonly SyncTask[] | undefined }
  | { readonly outcome: 'credentials-refused' }
  /** Away, slow, or no AdCP agent; the reason is in words and may be shown. */
  | { readonly outcome: 'silent'; readonly reason: string };

export type AskCapabilities = (
  agent: Pick<AgentCall, 'agentUrl' | 'protocol' | 'token'>,
  /** Ends the question. Default: only its time does. */
  end?: AbortSignal,
) => Promise<AskedCapabilities>;

const open: Readonly<Record<AgentCall['protocol'], OpenLink>> = { MCP: openMcpLink, A2A: openA2aLink };

/**
 * Asks an agent what it offers. Never throws for what the agent does.
 * @param timeoutMs of the whole question: somebody waits for the answer
 */
export const createAskCapabilities =
  (openLine: OpenOutboundLine, timeoutMs: number): AskCapabilities =>
  async ({ agentUrl, protocol, token }, end) => {
    const line = openLine();
    const timeout = timeoutSignal(timeoutMs);
    const signal = end === undefined ? timeout : AbortSignal.any([timeout, end]);
    const late = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new OutboundError('unreachable')), { once: true });
    });
    late.catch(() => undefined);
    const opening = open[protocol]({ agentUrl, token }, { fetch: line.fetch, signal, timeoutMs });
    try {
      const { tasks } = await Promise.race([opening, late]);
      return { outcome: 'answered', tasks: tasks && SyncTask.options.filter((task) => tasks.includes(task)) };
    } catch (error) {
      if (refusesCredentials(error)) return { outcome: 'credentials-refused' };
      const answer = answerOfError(error, 0);
      return { outcome: 'silent', reason: 'message' in answer ? answer.message : 'It gave no answer.' };
    } finally {
      void opening.then(
        (link) => link.close(),
        () => undefined,
      );
      line.close();
    }
  };
