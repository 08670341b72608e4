import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { abortable } from '../../../shared/async/abortable.ts';
import type { Clock } from '../../../shared/async/clock.ts';
import type { OpenOutboundLine } from '../../../shared/outbound/outbound-fetch.ts';
import { OutboundError } from '../../../shared/outbound/outbound-error.ts';
import { timeoutSignal } from '../../../shared/async/timeout.ts';
import { openA2aLink } from './a2a-link.ts';
import { answerOfCall, answerOfError, answerOfOwnTask, answerOfTask, unpacked } from './agent-answers.ts';
import type { AgentAnswer, AgentCall, CallAgent, TakenIn } from './agent-call.ts';
import { ToolResult, type AgentLink, type OpenLink } from './agent-link.ts';
import { openMcpLink } from './mcp-link.ts';
import { heedRetryAfter } from './retry-after.ts';
import { withoutToken } from './without-token.ts';

export interface AdcpOptions {
  /** With its bounds: addresses, redirects, time and bytes. */
  readonly openLine: OpenOutboundLine;
  /** Of one call, with everything before and after it. */
  readonly callMs: number;
  readonly clock: Clock;
}

const unreachable = (): OutboundError => new OutboundError('unreachable');

const open: Readonly<Record<AgentCall['protocol'], OpenLink>> = { MCP: openMcpLink, A2A: openA2aLink };

/**
 * Calls agents over connections that live for one call: the requests of a call share them. The official AdCP client gives its
 * schemas of requests; its way to call has no bounds, and it prints to the console what agents send.
 */
export const createAdcpAgent =
  ({ openLine, callMs, clock }: AdcpOptions): CallAgent =>
  async (call) => {
    const line = openLine();
    const { fetch, afterMs } = heedRetryAfter(line.fetch, clock);
    const signal = AbortSignal.any([call.signal, timeoutSignal(callMs)]);
    const opening = open[call.protocol](call, { fetch, timeoutMs: callMs, signal });
    try {
      const link = await abortable(opening, signal, unreachable);
      const asked = call.takenIn === undefined ? ask(link, call) : askAfter(link, call, call.takenIn);
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
  };

/** Of the schemas that requests are held against: agents may speak several versions. */
const ADCP_MAJOR = 3;

const ask = async (
  link: AgentLink,
  { task, token, request, idempotencyKey }: AgentCall,
): Promise<AgentAnswer> => {
  if (link.tasks?.includes(task) === false) {
    return { outcome: 'refused', message: `The agent does not offer ${task}.` };
  }
  const parameters = { ...request, adcp_major_version: ADCP_MAJOR, idempotency_key: idempotencyKey };
  if (!loadValidator()(task, parameters).valid) {
    return { outcome: 'refused', message: 'The agent cannot take this.' };
  }
  const said = await link.callTool({ name: task, arguments: parameters });
  return answerOfCall(readAnswer(said, token), link.taskOf);
};

const readAnswer = (said: unknown, token: string | undefined): ToolResult =>
  ToolResult.parse(withoutToken(unpacked(ToolResult.parse(said)), token));

const askAfter = async (
  link: AgentLink,
  { request, token }: AgentCall,
  { taskId, taskOf }: TakenIn,
): Promise<AgentAnswer> => {
  const read = (said: unknown): ToolResult => readAnswer(said, token);
  if (taskOf === 'A2A') return answerOfOwnTask(read(await link.ownTask(taskId)), { taskId, taskOf });
  const name = link.tasksGet;
  if (name === undefined) {
    const message = 'The agent has taken this in and offers no tasks/get to ask what became of it.';
    return { outcome: 'refused', message };
  }
  const { account } = request;
  const parameters = { task_id: taskId, include_result: true, ...(account === undefined ? {} : { account }) };
  const result = read(await link.callTool({ name, arguments: parameters }));
  return answerOfTask(result, { taskId, taskOf });
};

type Validate = (task: string, parameters: object) => { readonly valid: boolean };

/** The one file of the package that is needed, loaded by the first call: its entry brings its server and test tools along. */
const loadValidator = (): Validate => {
  const require = createRequire(import.meta.url);
  const file = join(dirname(require.resolve('@adcp/sdk')), 'validation', 'schema-validator.js');
  return (require(file) as { readonly validateRequest: Validate }).validateRequest;
};
