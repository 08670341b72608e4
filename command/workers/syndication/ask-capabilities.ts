import { SyncTask } from '../../../domain/agents/resource.ts';
import type { OpenOutboundLine } from '../../../shared/outbound/outbound-fetch.ts';
import { OutboundError } from '../../../shared/outbound/outbound-error.ts';
import { abortable } from '../../../shared/async/abortable.ts';
import { timeoutSignal } from '../../../shared/async/timeout.ts';
import type { AskCapabilities } from '../../agents/agent-capabilities.ts';
import { openA2aLink } from './a2a-link.ts';
import { answerOfError, refusesCredentials } from './agent-answers.ts';
import type { AgentCall } from './agent-call.ts';
import type { OpenLink } from './agent-link.ts';
import { openMcpLink } from './mcp-link.ts';

const open: Readonly<Record<AgentCall['protocol'], OpenLink>> = { MCP: openMcpLink, A2A: openA2aLink };

/** Never throws for anything the agent does. @param timeoutMs for the whole request, because a client waits */
export const createAskCapabilities =
  (openLine: OpenOutboundLine, timeoutMs: number): AskCapabilities =>
  async ({ agentUrl, protocol, token }, end) => {
    const line = openLine();
    const timeout = timeoutSignal(timeoutMs);
    const signal = end === undefined ? timeout : AbortSignal.any([timeout, end]);
    const opening = open[protocol]({ agentUrl, token }, { fetch: line.fetch, signal, timeoutMs });
    try {
      const { tasks } = await abortable(opening, signal, () => new OutboundError('unreachable'));
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
