import type { Agent } from '../../../domain/agents/resource.ts';
import type { JsonMembers, SubmittedCall, SyndicationRecord } from '../../../domain/syndication/resource.ts';
import type { Clock } from '../../../shared/async/clock.ts';
import { UnreadableSecretError } from '../../../shared/secrets/seal.ts';
import type { SecretStore } from '../../../shared/secrets/secret-store.ts';
import type { WorkRun } from '../../../shared/work-list/run-work.ts';
import type { SyndicatedKind } from '../../syndication/syndicated-kinds.ts';
import type { AgentAnswer, CallAgent, SubmittedTask } from './agent-call.ts';
import { TryAgainError } from './try-again.ts';

export interface AskAgentOptions {
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly callAgent: CallAgent;
}

export interface Question {
  readonly record: SyndicationRecord;
  readonly kind: SyndicatedKind;
  readonly agent: Agent;
  readonly run: WorkRun;
  readonly correlationId?: string | undefined;
}

export type FinalAnswer = Exclude<AgentAnswer, { readonly outcome: 'submitted' }>;

const FOLLOWED_MS_MAX = 24 * 60 * 60 * 1_000;
/** Polling interval: half of the time since acceptance, within these limits. */
const FOLLOW_EVERY_MS = { min: 2_000, max: 60_000 };

/**
 * Polls an accepted task until it ends, without using up its account's slot or its attempts. An unfinished
 * task must end before the next call, or it would undo that.
 * @param onSubmitted records the accepted task; later runs poll it
 * @throws TryAgainError while the agent works, or when the run was aborted
 */
export const askAgent = async (
  options: AskAgentOptions,
  question: Question,
  { request, idempotencyKey }: { readonly request: JsonMembers; readonly idempotencyKey: string },
  onSubmitted: (submittedTask: SubmittedTask) => Promise<void>,
): Promise<FinalAnswer> => {
  const { submitted } = question.record;
  if (submitted !== undefined) {
    const answer = await follow(options, question, submitted);
    if (submitted.idempotencyKey === idempotencyKey) return answer;
  }
  const answer = await call(options, question, { request, idempotencyKey });
  if (answer.outcome !== 'submitted') return answer;
  // The task may already be finished, in particular for a repeated call.
  const submittedTask = { taskId: answer.taskId, taskOf: answer.taskOf };
  const now = await call(options, question, { request, idempotencyKey, submittedTask });
  if (now.outcome === 'completed' || now.outcome === 'refused') return now;
  await onSubmitted(submittedTask);
  throw later(FOLLOW_EVERY_MS.min, 0);
};

/** The result of the earlier generation does not matter. @throws TryAgainError while the agent works */
export const awaitEarlier = async (options: AskAgentOptions, question: Question): Promise<void> => {
  const { submitted, generation } = question.record;
  if (submitted !== undefined && submitted.generation < generation) {
    await follow(options, question, submitted);
  }
};

const follow = async (
  options: AskAgentOptions,
  question: Question,
  submitted: SubmittedCall,
): Promise<FinalAnswer> => {
  const { idempotencyKey } = submitted;
  const request = { account: question.record.account };
  const answer = await call(options, question, { request, idempotencyKey, submittedTask: submitted });
  if (answer.outcome === 'completed' || answer.outcome === 'refused') return answer;
  const followedMs = options.clock.now() - Date.parse(submitted.submittedAt);
  if (followedMs < FOLLOWED_MS_MAX) {
    const pauseMs = Math.min(Math.max(Math.ceil(followedMs / 2), FOLLOW_EVERY_MS.min), FOLLOW_EVERY_MS.max);
    throw later(pauseMs, answer.outcome === 'retry' ? answer.afterMs : 0);
  }
  const hours = FOLLOWED_MS_MAX / 3_600_000;
  const last = answer.outcome === 'retry' ? ` Asked once more: ${answer.message}` : '';
  return { outcome: 'refused', message: `The agent has not finished this within ${hours} hours.${last}` };
};

const later = (pauseMs: number, agentMs: number): TryAgainError =>
  new TryAgainError('The agent is still working on it.', {
    afterMs: Math.max(pauseMs, agentMs),
    agentMs,
    isTry: false,
  });

const call = async (
  { callAgent, secrets }: AskAgentOptions,
  { kind: { task }, agent: { customerId, url, protocol, secretId }, run: { signal } }: Question,
  asked: {
    readonly request: JsonMembers;
    readonly idempotencyKey: string;
    readonly submittedTask?: SubmittedTask;
  },
): Promise<AgentAnswer> => {
  const token = secretId === undefined ? undefined : await readToken(secrets, customerId, secretId);
  if (secretId !== undefined && token === undefined) {
    return { outcome: 'refused', message: "The agent's token is gone. Register the agent again." };
  }
  const answer = await callAgent({ agentUrl: url, protocol, token, task, signal, ...asked });
  // This process aborted the call, not the agent: the attempt does not count as failed.
  if (answer.outcome === 'retry' && signal.aborted) throw new TryAgainError(answer.message, { isTry: true });
  return answer;
};

/** The token of an agent; undefined when it was deleted, or none of the installation's keys decrypts it. */
export const readToken = (
  secrets: SecretStore,
  customerId: number,
  secretId: string,
): Promise<string | undefined> =>
  secrets.get(customerId, secretId).catch((error: unknown) => {
    if (error instanceof UnreadableSecretError) return undefined;
    throw error;
  });
