import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { dayOfMs, dayText } from '../../../domain/reporting/day.ts';
import type { DeliveredBuy } from '../../../domain/reporting/events.ts';
import { sellerDeliveryAggregate, type SellerDay } from '../../../domain/reporting/seller-delivery.ts';
import { SELLER_DELIVERY } from '../../../domain/reporting/work.ts';
import { INSTALLATION } from '../../../domain/sellers/seller-directory.ts';
import type { SellerAgent } from '../../../domain/sellers/resource.ts';
import { handlerFor, type CommandStores } from '../../../shared/aggregate/handler-for.ts';
import { isoTimestamp, type Clock } from '../../../shared/async/clock.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import type { SecretStore } from '../../../shared/secrets/secret-store.ts';
import type { WorkKind, WorkRun } from '../../../shared/work-list/run-work.ts';
import { DONE, type WorkEntry, type WorkResult } from '../../../shared/work-list/work-list.ts';
import { loadDirectory } from '../../sellers/handler.ts';
import type { AgentAnswer, CallAgent } from '../syndication/agent-call.ts';
import { readToken } from '../syndication/ask-agent.ts';
import { listMediaBuys, type ListedBuys } from './list-media-buys.ts';
import { readReport, type ReportOf, type SellerAccount, type SellerReference } from './read-report.ts';

/** References that an account gave a seller, the last ones, and whether no other account gave it one. */
export type FindSellerReferences = (
  customerId: number,
  sellerId: number,
) => Promise<{ readonly references: readonly SellerReference[]; readonly isOnlyAccount: boolean }>;

export interface SellerReportsOptions extends CommandStores {
  readonly clock: Clock;
  readonly secrets: SecretStore;
  readonly callAgent: CallAgent;
  readonly findReferences: FindSellerReferences;
  readonly everyMs: number;
}

const ACTOR = 'worker:seller-delivery';
/** Sellers correct their figures of the last days. The first report goes as far back. */
const DAYS_ASKED = 7;
/** A seller that has refused, e.g. because it does not offer reports, is asked again after this many intervals. */
const REFUSED_PAUSES = 24;

/** May run again, or twice at the same time: reading changes nothing, and equal figures are not recorded. */
export const sellerReports = (options: SellerReportsOptions): WorkKind => ({
  name: SELLER_DELIVERY,
  concurrency: 8,
  perAccountMax: 2,
  attemptsMax: Infinity,
  handle: (entry, run) => askForDelivery(options, entry, run),
});

const Entry = z.object({ sellerId: z.int(), askedAt: z.iso.datetime() });

const askForDelivery = async (
  options: SellerReportsOptions,
  { customerId, data }: WorkEntry,
  { signal }: WorkRun,
): Promise<WorkResult> => {
  const { clock, everyMs, findReferences, secrets } = options;
  const { sellerId, askedAt } = Entry.parse(data);
  const nowMs = clock.now();
  // Nothing is bought at the moment of the proposal request.
  const leftMs = Date.parse(askedAt) + everyMs - nowMs;
  if (leftMs > 0) return { is: 'next', afterMs: leftMs };
  const { references, isOnlyAccount } = await findReferences(customerId, sellerId);
  // All are too old. The next proposal request lists the seller again.
  if (references.length === 0) return DONE;
  const agent = (await loadDirectory(options)).find((one) => one.sellerId === sellerId)?.agent;
  if (agent === undefined) return again(REFUSED_PAUSES * everyMs, 'The seller has no agent.');
  const token = await tokenOf(secrets, agent);
  if (agent.secretId !== undefined && token === undefined) {
    return again(REFUSED_PAUSES * everyMs, 'The token for the agent is gone.');
  }
  const call = callsOf(options, agent, token, signal);
  const failure = await reportAll(options, { customerId, sellerId, references, isOnlyAccount, nowMs, call });
  if (failure !== undefined) return again(failure.pauses * everyMs + failure.afterMs, failure.reason);
  return { is: 'next', afterMs: everyMs };
};

const tokenOf = async (secrets: SecretStore, { secretId }: SellerAgent): Promise<string | undefined> =>
  secretId === undefined ? undefined : readToken(secrets, INSTALLATION, secretId);

const again = (afterMs: number, reason: string): WorkResult => ({
  is: 'again',
  afterMs,
  isTry: true,
  reason,
});

type ReadDelivery = (
  task: 'get_media_buys' | 'get_media_buy_delivery',
  request: JsonObject,
  account: SellerAccount | undefined,
) => Promise<AgentAnswer>;

const callsOf =
  (
    { callAgent }: SellerReportsOptions,
    agent: SellerAgent,
    token: string | undefined,
    signal: AbortSignal,
  ): ReadDelivery =>
  async (task, request, account) => {
    const answer = await callAgent({
      agentUrl: agent.url,
      protocol: agent.protocol,
      token,
      task,
      // Not sent with a read.
      idempotencyKey: randomUUID(),
      request,
      ...(account && {
        sinceV3: { account: { brand: { domain: account.brandDomain }, operator: account.operator } },
      }),
      signal,
    });
    // This process ends. Another one asks again.
    signal.throwIfAborted();
    return answer;
  };

interface ReportRun extends Omit<ReportOf, 'day' | 'listed'> {
  readonly customerId: number;
  readonly sellerId: number;
  readonly nowMs: number;
  readonly call: ReadDelivery;
}

/** One run asks for the last ones. */
const ACCOUNTS_MAX = 100;

const accountsIn = (references: readonly SellerReference[]): readonly (SellerAccount | undefined)[] =>
  [...new Map(references.map(({ account }) => [JSON.stringify(account), account])).values()].slice(
    0,
    ACCOUNTS_MAX,
  );

/** Media buys that one request names. */
const NAMED_MAX = 100;

/** Undefined: all at once, for sellers that list none. */
const piecesOf = (listed: ListedBuys | undefined): readonly (readonly string[] | undefined)[] => {
  if (listed === undefined) return [undefined];
  const ids = [...listed.keys()];
  const pieces = Math.ceil(ids.length / NAMED_MAX);
  return Array.from({ length: pieces }, (_, n) => ids.slice(n * NAMED_MAX, (n + 1) * NAMED_MAX));
};

/** A seller may know some of an account's brands only: the others are asked for anyway, at the usual pace. */
const reportAll = async (options: SellerReportsOptions, run: ReportRun): Promise<Failure | undefined> => {
  const accounts = accountsIn(run.references);
  const failures: Failure[] = [];
  for (const account of accounts) {
    const failure = await reportAccount(options, run, account);
    if (failure?.isOfAll === true) return failure;
    if (failure !== undefined) failures.push(failure);
  }
  const [first] = failures;
  return first && failures.length < accounts.length ? { ...first, pauses: 1 } : first;
};

/** One day at a time: only then are totals of all metrics known to be the day's. */
const reportAccount = async (
  options: SellerReportsOptions,
  run: ReportRun,
  account: SellerAccount | undefined,
): Promise<Failure | undefined> => {
  const { nowMs, call } = run;
  const firstDay = dayOfMs(nowMs) - DAYS_ASKED + 1;
  const sinceMs = Date.parse(dayText(firstDay));
  const days = Array.from({ length: DAYS_ASKED }, (_, n) => dayText(firstDay + n));
  const listed = await listMediaBuys((request) => call('get_media_buys', request, account), sinceMs);
  if (listed !== undefined && 'outcome' in listed) return failureOf(listed);
  for (const ids of piecesOf(listed)) {
    for (const day of days) {
      const request = { start_date: day, end_date: day, ...(ids && { media_buy_ids: [...ids] }) };
      const answer = await call('get_media_buy_delivery', request, account);
      const failure = await keep(options, run, answer, { ...run, day, listed });
      if (failure !== undefined) return failure;
    }
  }
  return undefined;
};

interface Failure {
  readonly pauses: number;
  readonly afterMs: number;
  readonly reason: string;
  /** The seller would not answer for another account either. */
  readonly isOfAll?: boolean;
}

const failureOf = (answer: Exclude<AgentAnswer, { readonly outcome: 'completed' }>): Failure => {
  if (answer.outcome === 'submitted') {
    return { pauses: 1, afterMs: 0, reason: 'The seller answered with a task instead of a report.' };
  }
  if (answer.outcome === 'retry') {
    return { pauses: 1, afterMs: answer.afterMs, reason: answer.message, isOfAll: true };
  }
  return { pauses: REFUSED_PAUSES, afterMs: 0, reason: answer.message };
};

const keep = async (
  options: SellerReportsOptions,
  { customerId, sellerId }: { readonly customerId: number; readonly sellerId: number },
  answer: AgentAnswer,
  of: ReportOf,
): Promise<Failure | undefined> => {
  if (answer.outcome !== 'completed') return failureOf(answer);
  const read = readReport(answer.data, of);
  if ('problem' in read) return { pauses: 1, afterMs: 0, reason: read.problem };
  await record(options, customerId, { sellerId, day: of.day }, read.buys);
  return undefined;
};

const { execute } = handlerFor(sellerDeliveryAggregate);

const record = async (
  { clock, store }: SellerReportsOptions,
  customerId: number,
  at: SellerDay,
  buys: readonly DeliveredBuy[],
): Promise<void> => {
  if (buys.length === 0) return;
  // Random: the same figures may return after others.
  const commandId = randomUUID();
  const command = { type: 'ReportDelivery', now: isoTimestamp(clock.now()), ...at, buys } as const;
  await execute({ store }, at, command, {
    context: { commandId, customerId, actor: ACTOR, requestId: commandId },
  });
};
