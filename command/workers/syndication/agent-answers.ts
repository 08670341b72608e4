import { z } from 'zod';
import { OutboundError } from '../../../shared/outbound/outbound-error.ts';
import type { AgentAnswer, SubmittedTask } from './agent-call.ts';
import type { ToolResult } from './agent-link.ts';
import { RefusedCallError } from './call-errors.ts';
import { leftAloneMs } from './retry-after.ts';
import { shownText } from '../../../shared/outbound/shown-text.ts';

const AdcpError = z.looseObject({
  code: z.string().optional(),
  message: z.string().optional(),
  recovery: z.string().optional(),
  retry_after: z.number().optional(),
});

const JsonRecord = z.record(z.string(), z.json());
/** Ids are stored and sent back unchanged, so their form is bounded. */
const TaskId = z.string().regex(/^[\u0020-\u007e]{1,256}$/);
const SubmittedData = z.looseObject({ task_id: TaskId });

const NEEDS_INPUT: AgentAnswer = {
  outcome: 'refused',
  message: 'The agent asks for input, which the exchange cannot give.',
};

/** Error codes are an open vocabulary. Without `recovery` the call is retried. */
const failure = ({
  code,
  message,
  recovery,
  retry_after,
}: Partial<z.output<typeof AdcpError>>): AgentAnswer => {
  const shown = {
    message: shownText(message ?? 'The agent failed without a reason.'),
    ...(code !== undefined && ERROR_CODE.test(code) && { code }),
  };
  if (recovery === 'correctable' || recovery === 'terminal') return { outcome: 'refused', ...shown };
  return { outcome: 'retry', ...shown, afterMs: leftAloneMs(retry_after ?? 0) };
};

const ERROR_CODE = /^[A-Z][A-Z0-9_]{0,63}$/;

const TaskState = z.looseObject({
  status: z.string(),
  result: z.unknown().optional(),
  error: z.looseObject({ message: z.string().optional() }).optional().catch(undefined),
  message: z.string().optional().catch(undefined),
});

/** Without a status it is completed (AdCP 3.0 sends results alone). */
export const answerOfCall = (
  result: ToolResult,
  taskOf: (taskId: string) => SubmittedTask['taskOf'],
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
        : { outcome: 'refused', message: 'The answer of the agent cannot be read.', fault: 'protocol' };
    }
    case 'submitted':
    case 'working': {
      const taken = SubmittedData.safeParse(payload);
      return taken.success
        ? { outcome: 'submitted', taskId: taken.data.task_id, taskOf: taskOf(taken.data.task_id) }
        : {
            outcome: 'retry',
            message: 'The agent has not finished, and gives no task id.',
            afterMs: 2_000,
          };
    }
    case 'input-required':
      return NEEDS_INPUT;
    default:
      return failure({ message: error?.message ?? message });
  }
};

export const answerOfTask = (result: ToolResult, submittedTask: SubmittedTask): AgentAnswer => {
  const payload = payloadOf(result);
  const refusal = errorIn(payload);
  if (result.isError === true || refusal !== undefined) return failure(refusal ?? {});
  const state = TaskState.safeParse(payload);
  if (!state.success) {
    return { outcome: 'retry', message: 'The agent sent an invalid answer.', afterMs: 0, fault: 'protocol' };
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
      return { outcome: 'submitted', ...submittedTask };
  }
};

/** A protocol task contains what the call would have answered. */
export const answerOfOwnTask = (result: ToolResult, submittedTask: SubmittedTask): AgentAnswer => {
  const payload = payloadOf(result);
  const refusal = errorIn(payload);
  if (result.isError === true || refusal !== undefined) return final(failure(refusal ?? {}));
  const status = TaskState.safeParse(payload).data?.status;
  if (status === 'submitted' || status === 'working') return { outcome: 'submitted', ...submittedTask };
  return status === 'input-required' ? NEEDS_INPUT : finished(payload);
};

/** AdCP 3.0 defines no member for a task's result, so it may be missing. */
const finished = (result: unknown): AgentAnswer => {
  if (result === undefined || result === null) return { outcome: 'completed', data: undefined };
  const parsed = JsonRecord.safeParse(result);
  if (!parsed.success) {
    return { outcome: 'refused', message: 'The answer of the agent cannot be read.', fault: 'protocol' };
  }
  const refusal = errorIn(parsed.data);
  return refusal === undefined ? { outcome: 'completed', data: parsed.data } : final(failure(refusal));
};

/** A finished task cannot change, so its error is never transient. */
const final = (answer: AgentAnswer): AgentAnswer =>
  answer.outcome === 'retry' ? { outcome: 'refused', message: answer.message } : answer;

/** Parses a JSON payload, because JSON text can spell a secret in ways that a text search misses (`\/`). */
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

/** Errors next to results are remarks; without results they are the answer. */
const errorIn = (payload: unknown): z.output<typeof AdcpError> | undefined => {
  const { adcp_error, errors, context: _context, ext: _ext, ...rest } = Errors.safeParse(payload).data ?? {};
  if (adcp_error !== undefined) return adcp_error;
  return Object.keys(rest).length === 0 ? errors?.[0] : undefined;
};

/** Never shows an HTTP error's text: any server may have written it. @param afterMs from `heedRetryAfter` */
export const answerOfError = (error: unknown, afterMs: number): AgentAnswer => {
  if (error instanceof RefusedCallError) return { outcome: 'refused', message: error.message };
  const outbound = outboundErrorIn(error);
  if (outbound !== undefined) {
    const { failure: kind, message } = outbound;
    const fault = kind === 'bad-answer' ? 'protocol' : 'transport';
    return kind === 'refused'
      ? { outcome: 'refused', message, fault }
      : { outcome: 'retry', message, afterMs: 0, fault };
  }
  const { name, code } = Failure.safeParse(error).data ?? {};
  if (name === 'ValidationError')
    return { outcome: 'refused', message: "The request does not fit the agent's schema." };
  if (name === 'InputRequiredError') return NEEDS_INPUT;
  if (name === 'TaskNotFoundError') {
    return { outcome: 'refused', message: 'The agent no longer knows the task.' };
  }
  if (refusesCredentials(error)) {
    return { outcome: 'refused', message: 'The agent does not accept the credentials.' };
  }
  if (code !== undefined && code >= 400 && code < 500 && ![408, 425, 429].includes(code)) {
    return { outcome: 'refused', message: `The agent answered with HTTP status ${code}.`, fault: 'protocol' };
  }
  if (code !== undefined && code >= 400 && code < 600) {
    const message = `The agent answered with HTTP status ${code}.`;
    return { outcome: 'retry', message, afterMs, fault: 'transport' };
  }
  return { outcome: 'retry', message: 'The agent sent an invalid answer.', afterMs, fault: 'protocol' };
};

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
