import { z } from 'zod';
import type {
  AskedSeller,
  ProposalRequest,
  ProposalRequestCommand,
} from '../../../domain/proposals/proposal-request.ts';
import { PROPOSAL_END, PROPOSAL_SELLER, sellerEntryName } from '../../../domain/proposals/work.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import { isoTimestamp, type Clock } from '../../../shared/async/clock.ts';
import { timeoutSignal } from '../../../shared/async/timeout.ts';
import type { CommandStores } from '../../../shared/aggregate/handler-for.ts';
import type { SecretStore } from '../../../shared/secrets/secret-store.ts';
import type { WorkKind, WorkRun } from '../../../shared/work-list/run-work.ts';
import { DONE, type WorkEntry, type WorkResult } from '../../../shared/work-list/work-list.ts';
import { executeOnExecution, loadExecution } from '../../proposals/handler.ts';
import { loadDirectory } from '../../sellers/handler.ts';
import type { AgentAnswer, CallAgent } from '../syndication/agent-call.ts';
import { askForProducts, NO_INVENTORY } from './ask-for-products.ts';
import type { KeptAnswers } from './kept-answers.ts';
import { readAnswer } from './read-answer.ts';

export interface AskSellersOptions extends CommandStores {
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly answers: KeptAnswers;
  readonly callAgent: CallAgent;
}

const ACTOR = 'worker:proposals';

/** The sellers of an execution are asked all at once, because they share 30 seconds. Two accounts may do so. */
const SELLERS_AT_ONCE = { each: 100, together: 200 } as const;
/** Calls to one seller. A seller that is down must not make all wait for the deadline. */
const TRIES_MAX = 3;
const AGAIN_MS = 1_000;
/** A further try needs it, or its seller would have timed out instead of failed. */
const TRY_MS_MIN = 1_000;

/** May run again, or twice at the same time: reading products is harmless, and only the first answer counts. */
export const proposalSellers = (options: AskSellersOptions): WorkKind => ({
  name: PROPOSAL_SELLER,
  concurrency: SELLERS_AT_ONCE.together,
  perAccountMax: SELLERS_AT_ONCE.each,
  attemptsMax: Infinity,
  handle: (entry, run) => askSeller(options, entry, run),
});

/** Closes executions whose sellers have no more time, also after the death of the workers that asked them. */
export const proposalEnds = ({ clock, ...stores }: CommandStores & { readonly clock: Clock }): WorkKind => ({
  name: PROPOSAL_END,
  concurrency: 4,
  perAccountMax: 4,
  attemptsMax: Infinity,
  handle: async ({ customerId, key: executionId }) => {
    const nowMs = clock.now();
    const execution = await loadExecution(stores, customerId, executionId);
    if (execution?.status !== 'running') return DONE;
    // The list's clock is the database's.
    const leftMs = Date.parse(execution.deadlineAt) - nowMs;
    if (leftMs > 0)
      return { is: 'again', afterMs: leftMs, isTry: false, reason: 'The sellers have time left.' };
    const command = { type: 'CloseRound', now: isoTimestamp(nowMs) } as const;
    await record(stores, execution, command, 'close');
    return DONE;
  },
});

const Entry = z.object({ executionId: z.uuid(), sellerId: z.int() });

type SellerCommand = Extract<ProposalRequestCommand, { readonly sellerId: number }>;
type Step = SellerCommand extends infer Command
  ? Command extends SellerCommand
    ? Omit<Command, 'now' | 'sellerId'>
    : never
  : never;

const askSeller = async (
  options: AskSellersOptions,
  { customerId, data }: WorkEntry,
  run: WorkRun,
): Promise<WorkResult> => {
  const { executionId, sellerId } = Entry.parse(data);
  const execution = await loadExecution(options, customerId, executionId);
  const seller = execution?.sellers.find((one) => one.sellerId === sellerId);
  // The list may lag behind the stream.
  if (execution === undefined || seller?.status !== 'pending') return DONE;
  return seller.task === undefined
    ? firstCall(options, execution, seller, run)
    : poll(options, execution, seller, run);
};

const firstCall = async (
  options: AskSellersOptions,
  execution: ProposalRequest,
  seller: AskedSeller,
  run: WorkRun,
): Promise<WorkResult> => {
  const save = saver(options, execution, seller);
  const leftMs = Date.parse(execution.deadlineAt) - options.clock.now();
  if (leftMs <= 0) return save({ type: 'RecordTimeout' });
  const signal = timeoutSignal(leftMs);
  const answer = await call(options, execution, seller, AbortSignal.any([signal, run.signal]));
  // This process ends. Another one asks again, if there is time left.
  run.signal.throwIfAborted();
  if (answer.outcome === 'submitted') {
    const { taskId, taskOf } = answer;
    await save({ type: 'RecordTask', taskId, taskOf });
    return again(AGAIN_MS, 'The seller works on it.', false);
  }
  if (answer.outcome === 'retry') {
    if (signal.aborted) return save({ type: 'RecordTimeout' });
    const afterMs = Math.max(AGAIN_MS, answer.afterMs);
    const mayHelp = answer.fault !== 'protocol' && run.attempt < TRIES_MAX;
    const isInTime = options.clock.now() + afterMs + TRY_MS_MIN < Date.parse(execution.deadlineAt);
    if (mayHelp && isInTime) return again(afterMs, answer.message, true);
  }
  return saveAnswer(options, execution, answer, save);
};

const FOLLOWED_MS_MAX = 24 * 60 * 60 * 1_000;
/** Polling interval: half of the time since acceptance, within these limits. */
const FOLLOW_EVERY_MS = { min: 1_000, max: 60_000 };

const poll = async (
  options: AskSellersOptions,
  execution: ProposalRequest,
  seller: AskedSeller,
  run: WorkRun,
): Promise<WorkResult> => {
  const save = saver(options, execution, seller);
  const answer = await call(options, execution, seller, run.signal);
  run.signal.throwIfAborted();
  if (answer.outcome === 'completed' || answer.outcome === 'refused') {
    return saveAnswer(options, execution, answer, save);
  }
  const followedMs = options.clock.now() - Date.parse(seller.task?.acceptedAt ?? execution.startedAt);
  if (followedMs >= FOLLOWED_MS_MAX) return save({ type: 'RecordTimeout' });
  const pauseMs = Math.min(Math.max(Math.ceil(followedMs / 2), FOLLOW_EVERY_MS.min), FOLLOW_EVERY_MS.max);
  const asked = answer.outcome === 'retry' ? answer.afterMs : 0;
  return again(Math.max(pauseMs, asked), 'The seller works on it.', false);
};

const again = (afterMs: number, reason: string, isTry: boolean): WorkResult => ({
  is: 'again',
  afterMs,
  isTry,
  reason,
});

const call = async (
  options: AskSellersOptions,
  { executionId, request, startedAt, deadlineAt }: ProposalRequest,
  { sellerId, task: submittedTask }: AskedSeller,
  signal: AbortSignal,
): Promise<AgentAnswer> => {
  const agent = (await loadDirectory(options)).find((one) => one.sellerId === sellerId)?.agent;
  const { brief, account, buyerRef } = request;
  const brand = account && { domain: account.brandDomain };
  return askForProducts(options, agent, {
    idempotencyKey: derivedId(executionId, sellerEntryName(sellerId)),
    request: {
      buying_mode: 'brief',
      brief,
      ...(account && brand && { brand, account: { brand, operator: account.operator } }),
      // AdCP 3.0 has no other place for it in this request. Sellers send the context back unchanged.
      context: { buyer_ref: buyerRef },
    },
    budgetMs: Date.parse(deadlineAt) - Date.parse(startedAt),
    ...(submittedTask && { submittedTask }),
    signal,
  });
};

const nothing = { proposalIds: [], products: [], counts: { received: 0, invalid: 0, unlisted: 0 } };

const saveAnswer = async (
  { answers }: AskSellersOptions,
  { customerId, request }: ProposalRequest,
  answer: Exclude<AgentAnswer, { readonly outcome: 'submitted' }>,
  save: (step: Step) => Promise<WorkResult>,
): Promise<WorkResult> => {
  if (answer.outcome !== 'completed') {
    const { message, fault = 'protocol', code } = answer;
    if (code === NO_INVENTORY) {
      return save({ type: 'RecordAnswer', answer: { outcome: 'no_inventory_for_request', ...nothing } });
    }
    const shown = code ?? (fault === 'transport' ? 'UNREACHABLE' : 'INVALID_ANSWER');
    return save({ type: 'RecordFailure', reasonCode: fault, code: shown, message });
  }
  const read = readAnswer(answer.data, request.buyerRef);
  if ('problem' in read) return save({ type: 'RecordFailure', reasonCode: 'protocol', ...read.problem });
  // Before the event, which refers to it. After a crash in between the seller is asked again.
  const kept = await answers.keep(customerId, answer.data ?? {});
  return save({ type: 'RecordAnswer', answer: { ...read.answer, ...kept } });
};

const saver =
  ({ clock, store, snapshots }: AskSellersOptions, execution: ProposalRequest, { sellerId }: AskedSeller) =>
  async (step: Step): Promise<WorkResult> => {
    const command = { ...step, sellerId, now: isoTimestamp(clock.now()) };
    const stores = { store, ...(snapshots && { snapshots }) };
    await record(stores, execution, command, `${step.type}:${sellerId}`);
    return DONE;
  };

/** Each step of a seller is one command with a fixed id, so running it twice appends once. */
const record = async (
  stores: CommandStores,
  { customerId, executionId }: ProposalRequest,
  command: ProposalRequestCommand,
  step: string,
): Promise<void> => {
  const commandId = derivedId(executionId, step);
  await executeOnExecution(stores, executionId, command, {
    context: { commandId, customerId, actor: ACTOR, requestId: commandId, continues: true },
  });
};
