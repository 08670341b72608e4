import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { AgentClient } from '@adcp/sdk';
import type { Clock } from '../../../shared/clock.ts';
import type { Logger } from '../../../shared/log.ts';
import type { OpenOutboundLine } from '../../../shared/outbound/outbound-fetch.ts';
import { OutboundError } from '../../../shared/outbound/outbound-error.ts';
import { openA2aLink } from './a2a-link.ts';
import {
  answerOf,
  answerOfError,
  answerOfOwnTask,
  answerOfTask,
  TaskResult,
  unpacked,
} from './agent-answers.ts';
import type { AgentAnswer, AgentCall, CallAgent, TakenIn } from './agent-call.ts';
import { ToolResult, type AgentLink, type OpenLink } from './agent-link.ts';
import { keepFromConsole } from './client-warnings.ts';
import { openMcpLink } from './mcp-link.ts';
import { heedRetryAfter } from './retry-after.ts';
import { withoutToken } from './without-token.ts';

export interface AdcpOptions {
  /** With its bounds: addresses, redirects, time and bytes. */
  readonly openLine: OpenOutboundLine;
  /** Of one call, with everything before and after it. */
  readonly callMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const open: Readonly<Record<AgentCall['protocol'], OpenLink>> = { MCP: openMcpLink, A2A: openA2aLink };

/**
 * Calls agents through the official client, over connections of our own. A client lives for one call: it remembers
 * what it sends. So do the connections: the requests of a call share them, and nobody else does.
 */
export const createAdcpAgent =
  ({ openLine, callMs, clock, log }: AdcpOptions): CallAgent =>
  async (call) => {
    const line = openLine();
    const { fetch, afterMs } = heedRetryAfter(line.fetch, clock);
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(callMs)]);
    const aborted = new Promise<never>((_, reject) => {
      const end = (): void => reject(new OutboundError('unreachable'));
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    });
    aborted.catch(() => undefined);
    const opening = open[call.protocol](call, { fetch, timeoutMs: callMs, signal });
    try {
      const link = await Promise.race([opening, aborted]);
      const asked = call.takenIn === undefined ? ask(link, call, log) : askAfter(link, call, call.takenIn);
      return await Promise.race([asked, aborted]);
    } catch (error) {
      return answerOfError(error, afterMs());
    } finally {
      void opening.then(
        (link) => link.close(),
        () => undefined,
      );
      line.close();
    }
  };

const ask = async (
  link: AgentLink,
  { task, token, request, idempotencyKey }: AgentCall,
  log: Logger,
): Promise<AgentAnswer> => {
  if (link.tasks?.includes(task) === false) {
    return { outcome: 'refused', message: `The agent does not offer ${task}.` };
  }
  const client = clientOver(link, log);
  const result = await client.executeTask(task, { ...request, idempotency_key: idempotencyKey });
  if (link.thrown() !== undefined) throw link.thrown();
  const { success, status, data, error, adcpError } = TaskResult.parse(result);
  const said = withoutToken({ success, status, data, error, adcpError }, token);
  return answerOf(TaskResult.parse(said), link.taskOf);
};

const askAfter = async (
  link: AgentLink,
  { request, token }: AgentCall,
  { taskId, taskOf }: TakenIn,
): Promise<AgentAnswer> => {
  const read = (said: unknown): ToolResult =>
    ToolResult.parse(withoutToken(unpacked(ToolResult.parse(said)), token));
  if (taskOf === 'A2A') return answerOfOwnTask(read(await link.ownTask(taskId)), { taskId, taskOf });
  const name = link.tasksGet;
  if (name === undefined) {
    const message = 'The agent has taken this in and offers no tasks/get to ask what became of it.';
    return { outcome: 'refused', message };
  }
  const { account } = request;
  const parameters = { task_id: taskId, include_result: true, ...(account === undefined ? {} : { account }) };
  const result = read(await link.toolClient.callTool({ name, arguments: parameters }));
  return answerOfTask(result, { taskId, taskOf });
};

/**
 * The one file of the package that is needed, loaded by the first call: its entry brings its server and its test
 * tools along, half as much memory again, and needs a Node that can `require` ES modules.
 */
const loadAgentClient = (log: Logger): typeof AgentClient => {
  if (agentClient !== undefined) return agentClient;
  const require = createRequire(import.meta.url);
  const file = join(dirname(require.resolve('@adcp/sdk')), 'core', 'AgentClient.js');
  keepFromConsole('/node_modules/@adcp/sdk/', log);
  agentClient = (require(file) as { readonly AgentClient: typeof AgentClient }).AgentClient;
  return agentClient;
};
let agentClient: typeof AgentClient | undefined;

const clientOver = ({ toolClient }: AgentLink, log: Logger): AgentClient =>
  loadAgentClient(log).fromMCPClient(toolClient as never, {
    // Answers are read by our own schemas: its checks would print what an agent sends.
    validation: { requests: 'strict', responses: 'off' },
    // It refuses agents that lack a flag which is in no schema.
    validateFeatures: false,
  });
