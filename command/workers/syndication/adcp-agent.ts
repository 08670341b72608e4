import { traced } from '../../../shared/tracing/tracing.ts';
import { abortable } from '../../../shared/async/abortable.ts';
import type { Clock } from '../../../shared/async/clock.ts';
import type { OpenOutboundLine } from '../../../shared/outbound/outbound-fetch.ts';
import { OutboundError } from '../../../shared/outbound/outbound-error.ts';
import { timeoutSignal } from '../../../shared/async/timeout.ts';
import { openA2aLink } from './a2a-link.ts';
import { loadAdcpSchemas } from './adcp-schemas.ts';
import { answerOfCall, answerOfError, answerOfOwnTask, answerOfTask, unpacked } from './agent-answers.ts';
import {
  readTasks,
  type AgentAnswer,
  type AgentCall,
  type CallAgent,
  type SubmittedTask,
} from './agent-call.ts';
import { ToolResult, type AgentLink, type OpenLink } from './agent-link.ts';
import { openMcpLink } from './mcp-link.ts';
import { heedRetryAfter } from './retry-after.ts';
import { withoutToken } from './without-token.ts';

export interface AdcpOptions {
  /** Enforces the outbound policy and limits. */
  readonly openLine: OpenOutboundLine;
  readonly callMs: number;
  readonly clock: Clock;
}

const unreachable = (): OutboundError => new OutboundError('unreachable');

const open: Readonly<Record<AgentCall['protocol'], OpenLink>> = { MCP: openMcpLink, A2A: openA2aLink };

/** Only the schemas are from the official AdCP client: its transport is unbounded and prints answers. */
export const createAdcpAgent =
  ({ openLine, callMs, clock }: AdcpOptions): CallAgent =>
  (call) =>
    traced(`agent ${call.task}`, { attributes: { 'exchange.protocol': call.protocol } }, async () => {
      const line = openLine();
      const { fetch, afterMs } = heedRetryAfter(line.fetch, clock);
      const signal = AbortSignal.any([call.signal, timeoutSignal(callMs)]);
      const opening = open[call.protocol](call, { fetch, timeoutMs: callMs, signal });
      try {
        const link = await abortable(opening, signal, unreachable);
        const { submittedTask } = call;
        const asked = submittedTask === undefined ? ask(link, call) : askAfter(link, call, submittedTask);
        return await abortable(asked, signal, unreachable);
      } catch (error) {
        return answerOfError(error, afterMs());
      } finally {
        void opening.then(
          (link) => link.close(),
          () => undefined,
        );
        line.close();
      }
    });

/** AdCP version of the request schemas. Agents may speak several versions. */
const ADCP_MAJOR = 3;
/** Every agent of AdCP 3 has this task, and no earlier one. */
const OF_V3 = 'get_adcp_capabilities';

const isRead = (task: AgentCall['task']): boolean => (readTasks as readonly string[]).includes(task);

const ask = async (
  link: AgentLink,
  { task, token, request, sinceV3, idempotencyKey }: AgentCall,
): Promise<AgentAnswer> => {
  if (link.tasks?.includes(task) === false) {
    return { outcome: 'refused', message: `The agent does not offer ${task}.`, fault: 'protocol' };
  }
  const parameters = {
    ...request,
    ...(link.tasks?.includes(OF_V3) === true && sinceV3),
    adcp_major_version: ADCP_MAJOR,
    ...(!isRead(task) && { idempotency_key: idempotencyKey }),
  };
  if (!loadAdcpSchemas().validateRequest(task, parameters).valid) {
    return { outcome: 'refused', message: "The request does not fit the agent's schema." };
  }
  const said = await link.callTool({ name: task, arguments: parameters });
  return answerOfCall(readAnswer(said, token), link.taskOf);
};

const readAnswer = (said: unknown, token: string | undefined): ToolResult =>
  ToolResult.parse(withoutToken(unpacked(ToolResult.parse(said)), token));

const askAfter = async (
  link: AgentLink,
  { request, token }: AgentCall,
  { taskId, taskOf }: SubmittedTask,
): Promise<AgentAnswer> => {
  const read = (said: unknown): ToolResult => readAnswer(said, token);
  if (taskOf === 'A2A') return answerOfOwnTask(read(await link.ownTask(taskId)), { taskId, taskOf });
  const name = link.tasksGet;
  if (name === undefined) {
    const message = 'The agent has accepted the task, but offers no tasks/get to read its status.';
    return { outcome: 'refused', message };
  }
  const { account } = request;
  const parameters = { task_id: taskId, include_result: true, ...(account === undefined ? {} : { account }) };
  const result = read(await link.callTool({ name, arguments: parameters }));
  return answerOfTask(result, { taskId, taskOf });
};
