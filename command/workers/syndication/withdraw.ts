import { randomUUID } from 'node:crypto';
import type { JsonMembers, SubmittedCall } from '../../../domain/syndication/syndication-resource.ts';
import type { SyndicationRecord } from '../../../domain/syndication/syndication.ts';
import { canonicalJson } from '../../../shared/json/canonical-json.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import {
  CALL_BYTES_MAX,
  dropRequest,
  itemIn,
  keepOnlyRequest,
  type KeptSet,
  type SyndicatedItem,
  type SyndicatedKind,
} from '../../syndication/syndicated-kinds.ts';
import type { JsonObject } from '../../../shared/event-store/event-store.ts';
import { dropProblem, itemProblem, itemRow } from './agent-items.ts';
import { askAndFollow } from './ask-and-follow.ts';
import type { Question } from './ask-agent.ts';
import { submitted, withdrawn } from './record-steps.ts';
import type { SyndicateOptions } from './syndicate-options.ts';
import { TryAgainError } from './try-again.ts';

/**
 * From the switching off: an agent that is away keeps what it has, and nobody else will tell it. Tried so long, it is
 * given up, and the list of work ends; whoever switches off once more has it tried anew.
 */
const TRIED_MS = 24 * 60 * 60_000;

/**
 * Has the agent drop what is switched off. What it cannot be told stays DISABLED all the same, and the record says why.
 * @throws TryAgainError
 */
export const withdraw = async (options: SyndicateOptions, question: Question): Promise<void> => {
  const { record, kind } = question;
  const isOver = options.clock.now() - Date.parse(record.updatedAt) >= TRIED_MS;
  const run = { ...question.run, isLastAttempt: question.run.isLastAttempt && isOver };
  const patient = { ...question, run };
  const reason = await (kind.dropping.by === 'name'
    ? dropByName(options, patient)
    : keepTheRest(options, patient, kind.dropping));
  await withdrawn(options, question, reason);
  if (kind.delivery === 'members') await options.audienceParts.forget(record);
};

/** The agent's answer; or why it could not be told, to be kept. */
type Told = { readonly data: JsonObject | undefined } | { readonly reason: string };

const told = async (
  options: SyndicateOptions,
  question: Question,
  request: JsonMembers,
  idempotencyKey: string,
): Promise<Told> => {
  const answer = await askAndFollow(options, question, { request, idempotencyKey });
  if (answer.outcome === 'completed') return { data: answer.data };
  if (answer.outcome === 'retry' && !question.run.isLastAttempt) {
    throw new TryAgainError(answer.message, { afterMs: answer.afterMs, isTry: true });
  }
  return { reason: answer.message };
};

/** @returns why it could not be done; undefined when it was */
const dropByName = async (options: SyndicateOptions, question: Question): Promise<string | undefined> => {
  const { record, kind } = question;
  const { isOtherAdvertisers, isOtherRegistrations } = await options.atAgents.holders(record);
  if (isOtherAdvertisers) {
    return 'Another advertiser has something of this id at the same account of the agent.';
  }
  if (isOtherRegistrations) {
    return 'It stays at the same account of the agent, which is registered more than once: it is switched on there, too.';
  }
  const request = dropRequest(kind, record.account, record.resourceId);
  const { recordId, generation } = record;
  const key = derivedId(recordId, `${generation}:${canonicalJson(request)}`);
  const answer = await told(options, question, request, key);
  if ('reason' in answer) return answer.reason;
  return answer.data === undefined ? undefined : dropProblem(itemRow(kind, answer.data, record.resourceId));
};

/** Rounds of `keepTheRest`, each because something was switched on or off during the one before. */
const ROUNDS_MAX = 10;
const TOO_MUCH = 'The agent has too much to be told in one call.';

/**
 * Has the agent keep what is to stay, and nothing else. That names everything, and what was switched on or off while
 * the agent was at it is not in what it was told: then it is told again, until nothing has changed meanwhile. So
 * what any worker does at the same time comes out right without a lock that would have all of them wait.
 *
 * Each telling has a key of its own: under one that the agent knows it would answer as before and do nothing, although
 * another list was told meanwhile, by whomever. Only what the agent has taken in is not told again while it is the last
 * that was told for the record. After a call of which nobody knows what became the list is told once more; that does no
 * harm, as it says how all is to be in the end.
 * @returns why it could not be done; undefined when it was
 */
export const keepTheRest = async (
  options: SyndicateOptions,
  question: Question,
  { itemsMax, mayBeEmpty }: KeptSet,
): Promise<string | undefined> => {
  const { record, kind } = question;
  let before: string | undefined;
  /** Until something else is told. */
  let takenIn = takenInOf(record);
  const refused = new Set<string>();
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const items = await itemsKept(options, record, kind, itemsMax, refused);
    if (items === undefined) return TOO_MUCH;
    if (items.length === 0 && !mayBeEmpty) {
      return `${kind.task} has no way to say that nothing stays: the agent could not be told to drop its last one.`;
    }
    // The same to the last byte when this is.
    const text = canonicalJson(
      keepOnlyRequest(
        kind,
        record.account,
        items.map(({ item }) => item),
      ),
    );
    if (text === before) return undefined;
    const request = await keptInFull(record, kind, items);
    if (request === undefined) return TOO_MUCH;
    const list = `${derivedId(record.recordId, `${record.generation}:${text}`)}.`;
    const last = round === 1 ? takenIn?.idempotencyKey : undefined;
    const known = last?.startsWith(list) === true ? last : undefined;
    if (known === undefined && takenIn !== undefined) {
      await toldSince(options, question, takenIn);
      takenIn = undefined;
    }
    const key = known ?? `${list}${randomUUID()}`;
    const answer = await told(options, question, request, key);
    if ('reason' in answer) return answer.reason;
    const row = answer.data === undefined ? undefined : itemRow(kind, answer.data, record.resourceId);
    const problem = row === undefined ? undefined : itemProblem(row);
    if (problem !== undefined) return problem;
    // What was dropped by an earlier list, and is refused as it is now, comes back as it was.
    for (const { resourceId, item } of items) {
      const named = answer.data === undefined ? undefined : itemRow(kind, answer.data, resourceId);
      if (named !== undefined && itemProblem(named) !== undefined) refused.add(canonicalJson(item));
    }
    before = text;
  }
  throw new TryAgainError('What is to stay at the agent keeps changing.', { isTry: true });
};

/** A list that the agent has taken in; its key alone has two parts. */
const takenInOf = ({ generation, submitted: last }: SyndicationRecord): SubmittedCall | undefined =>
  last?.generation === generation && last.idempotencyKey.includes('.') ? last : undefined;

/**
 * Recorded before the call: what was taken in is not the last that was told any more. Whoever finds the same list to be
 * told again, above all after a run that ended half way, tells it. The agent's task stays what is asked after.
 */
const toldSince = async (
  options: SyndicateOptions,
  { record, correlationId }: Question,
  { idempotencyKey, taskId, taskOf }: SubmittedCall,
): Promise<void> => {
  const since = derivedId(record.recordId, `${record.generation}:since:${idempotencyKey}`);
  await submitted(options, record, { idempotencyKey: since, taskId, taskOf }, correlationId);
};

interface KeptItem {
  readonly advertiserId: number;
  readonly resourceId: string;
  readonly item: SyndicatedItem;
}

const itemsKept = async (
  { atAgents }: SyndicateOptions,
  record: SyndicationRecord,
  kind: SyndicatedKind,
  itemsMax: number,
  refused: ReadonlySet<string>,
): Promise<readonly KeptItem[] | undefined> => {
  const { customerId } = record;
  const kept = await atAgents.kept(record, itemsMax + 1);
  if (kept.length > itemsMax) return undefined;
  const items: KeptItem[] = [];
  for (const { advertiserId, resourceId, stillThere, hasFailed } of kept) {
    const older = stillThere === undefined ? undefined : itemIn(kind, stillThere);
    const now = (await kind.load({ customerId, advertiserId, resourceId }))?.item;
    const isOlder = hasFailed || (now !== undefined && refused.has(canonicalJson(now)));
    // Deleted since, it is switched off; until then it stays as it is.
    const item = isOlder ? (older ?? now) : now;
    if (item !== undefined) items.push({ advertiserId, resourceId, item });
  }
  return items;
};

const keptInFull = async (
  { customerId, account }: SyndicationRecord,
  kind: SyndicatedKind,
  items: readonly KeptItem[],
): Promise<JsonMembers | undefined> => {
  const full: SyndicatedItem[] = [];
  let bytes = 0;
  for (const { advertiserId, resourceId, item } of items) {
    const one = await kind.inFull({ customerId, advertiserId, resourceId }, item);
    bytes += one === undefined ? Infinity : Buffer.byteLength(JSON.stringify(one));
    if (one === undefined || bytes > CALL_BYTES_MAX) return undefined;
    full.push(one);
  }
  return keepOnlyRequest(kind, account, full);
};
