import { z } from 'zod';
import { OutboundError } from '../../../shared/outbound/outbound-error.ts';
import type { AgentAnswer, TakenIn } from './agent-call.ts';
import type { ToolResult } from './agent-link.ts';
import { RefusedCallError } from './call-errors.ts';
import { leftAloneMs } from './retry-after.ts';
import { shownText } from './shown-text.ts';

const AdcpError = z.looseObject({
  code: z.string().optional(),
  message: z.string().optional(),
  recovery: z.string().optional(),
  retry_after: z.number().optional(),
});

const JsonRecord = z.record(z.string(), z.json());
/** Longer ids are none; what is stored of them goes back to the agent as it came. */
const TaskId = z.string().regex(/^[\u0020-\u007e]{1,256}$/);
const TakenInData = z.looseObject({ task_id: TaskId });

const NEEDS_INPUT: AgentAnswer = {
  outcome: 'refused',
  message: 'The agent asks for input that nobody here can give.',
};

/** Codes are an open vocabulary. Without a word on recovery it may be worth asking again. */
const failure = ({ message, recovery, retry_after }: Partial<z.output<typeof AdcpError>>): AgentAnswer => {
  const shown = shownText(message ?? 'The agent failed without saying why.');
  if (recovery === 'correctable' || recovery === 'terminal') return { outcome: 'refused', message: shown };
  return {
    outcome: 'retry',
    message: shown,
    afterMs: leftAloneMs(retry_after ?? 0),
  };
};

const TaskState = z.looseObject({
  status: z.string(),
  result: z.unknown().optional(),
  error: z.looseObject({ message: z.string().optional() }).optional().catch(undefined),
  message: z.string().optional().catch(undefined),
});

/** An answer to the call of a task. One that names no status is completed (AdCP 3.0: results alone). */
export const answerOfCall = (
  result: ToolResult,
  taskOf: (taskId: string) => TakenIn['taskOf'],
): AgentAnswer => {
  const payload = payloadOf(result);
  const refusal = errorIn(payload);
  if (result.isError === true || refusal !== undefined)
    return failure(refusal ?? { message: textOf(result) });
  const { status = 'completed', error, message } = TaskState.safeParse(payload).data ?? {};
  switch (status) {
    case 'completed': {
      const parsed = JsonRecord.safeParse(payload);
      return parsed.success
        ? { outcome: 'completed', data: parsed.data }
        : { outcome: 'refused', message: 'The agent answered something that cannot be read.' };
    }
    case 'submitted':
    case 'working': {
      const taken = TakenInData.safeParse(payload);
      return taken.success
        ? { outcome: 'submitted', taskId: taken.data.task_id, taskOf: taskOf(taken.data.task_id) }
        : {
            outcome: 'retry',
            message: 'The agent has not finished, and gives no id to ask after.',
            afterMs: 2_000,
          };
    }
    case 'input-required':
      return NEEDS_INPUT;
    default:
      return failure({ message: error?.message ?? message });
  }
};

/** An answer to AdCP's `tasks/get`. */
export const answerOfTask = (result: ToolResult, takenIn: TakenIn): AgentAnswer => {
  const payload = payloadOf(result);
  const refusal = errorIn(payload);
  if (result.isError === true || refusal !== undefined) return failure(refusal ?? {});
  const state = TaskState.safeParse(payload);
  if (!state.success) {
    return { outcome: 'retry', message: 'The agent answered something that is no answer.', afterMs: 0 };
  }
  const { status, error, message } = state.data;
  switch (status) {
    case 'completed':
      return finished(state.data.result);
    case 'failed':
    case 'canceled':
    case 'rejected':
      return {
        outcome: 'refused',
        message: shownText(error?.message ?? message ?? `The agent's task ended as ${status}.`),
      };
    case 'input-required':
    case 'auth-required':
      return NEEDS_INPUT;
    default:
      return { outcome: 'submitted', ...takenIn };
  }
};

/** What a task of the protocol's own has come to is what the call would have answered. */
export const answerOfOwnTask = (result: ToolResult, takenIn: TakenIn): AgentAnswer => {
  const payload = payloadOf(result);
  const refusal = errorIn(payload);
  if (result.isError === true || refusal !== undefined) return final(failure(refusal ?? {}));
  const status = TaskState.safeParse(payload).data?.status;
  if (status === 'submitted' || status === 'working') return { outcome: 'submitted', ...takenIn };
  return status === 'input-required' ? NEEDS_INPUT : finished(payload);
};

/** AdCP 3.0 has no member for the results of a task: who gives none says that it is done, and no more. */
const finished = (result: unknown): AgentAnswer => {
  if (result === undefined || result === null) return { outcome: 'completed', data: undefined };
  const parsed = JsonRecord.safeParse(result);
  if (!parsed.success) {
    return { outcome: 'refused', message: 'The agent answered something that cannot be read.' };
  }
  const refusal = errorIn(parsed.data);
  return refusal === undefined ? { outcome: 'completed', data: parsed.data } : final(failure(refusal));
};

/** A task that has ended will not come to anything else, whatever its error says of calls. */
const final = (answer: AgentAnswer): AgentAnswer =>
  answer.outcome === 'retry' ? { outcome: 'refused', message: answer.message } : answer;

/** With its payload as what it is: in JSON text a secret may be spelled in ways that are not found (`\/`). */
export const unpacked = (result: ToolResult): ToolResult => {
  const parsed = JsonRecord.safeParse(payloadOf(result));
  return parsed.success ? { ...result, structuredContent: parsed.data } : result;
};

const textOf = ({ content }: ToolResult): string | undefined =>
  content?.find((one) => one.text !== undefined)?.text;

const payloadOf = (result: ToolResult): unknown => {
  if (result.structuredContent !== undefined) return result.structuredContent;
  const text = textOf(result);
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
};

const Errors = z.looseObject({
  adcp_error: AdcpError.optional(),
  errors: z.array(AdcpError).optional(),
});

/** Errors beside results are remarks; alone they are the answer. */
const errorIn = (payload: unknown): z.output<typeof AdcpError> | undefined => {
  const { adcp_error, errors, context: _context, ext: _ext, ...rest } = Errors.safeParse(payload).data ?? {};
  if (adcp_error !== undefined) return adcp_error;
  return Object.keys(rest).length === 0 ? errors?.[0] : undefined;
};

/**
 * What an agent's HTTP server says is not shown: it may be any server's of its network.
 * @param afterMs as its last answer says (`heedRetryAfter`)
 */
export const answerOfError = (error: unknown, afterMs: number): AgentAnswer => {
  if (error instanceof RefusedCallError) return { outcome: 'refused', message: error.message };
  const outbound = outboundErrorIn(error);
  if (outbound !== undefined) {
    const { failure: kind, message } = outbound;
    return kind === 'refused' ? { outcome: 'refused', message } : { outcome: 'retry', message, afterMs: 0 };
  }
  const { name, code } = Failure.safeParse(error).data ?? {};
  if (name === 'ValidationError') return { outcome: 'refused', message: 'The agent cannot take this.' };
  if (name === 'InputRequiredError') return NEEDS_INPUT;
  if (name === 'TaskNotFoundError') {
    return { outcome: 'refused', message: 'The agent does not know any more what it has taken in.' };
  }
  if (refusesCredentials(error)) {
    return { outcome: 'refused', message: 'The agent does not accept the credentials.' };
  }
  if (code !== undefined && code >= 400 && code < 500 && ![408, 425, 429].includes(code)) {
    return { outcome: 'refused', message: `The agent answered with HTTP status ${code}.` };
  }
  const message =
    code !== undefined && code >= 400 && code < 600
      ? `The agent answered with HTTP status ${code}.`
      : 'The agent answered something that is no answer.';
  return { outcome: 'retry', message, afterMs };
};

/** Whether the agent answered that it does not accept who is asking. */
export const refusesCredentials = (error: unknown): boolean => {
  const { name = '', code } = Failure.safeParse(error).data ?? {};
  return /Unauthorized|NeedsAuthorization/.test(name) || code === 401 || code === 403;
};

const Failure = z.object({ name: z.string().optional(), code: z.number().optional().catch(undefined) });

const outboundErrorIn = (error: unknown): OutboundError | undefined => {
  for (let one = error; one instanceof Error; one = one.cause) {
    if (one instanceof OutboundError) return one;
  }
  return undefined;
};
