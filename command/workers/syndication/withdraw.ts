import { randomUUID } from 'node:crypto';
import type { JsonMembers, SubmittedCall } from '../../../domain/syndication/resource.ts';
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

/** After this time since switching off, deletion is given up; switching off again restarts it. */
const TRIED_MS = 24 * 60 * 60_000;

/** After a failure the record stays DISABLED, with the reason. @throws TryAgainError */
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

type CallResult = { readonly data: JsonObject | undefined } | { readonly reason: string };

const callAgent = async (
  options: SyndicateOptions,
  question: Question,
  request: JsonMembers,
  idempotencyKey: string,
): Promise<CallResult> => {
  const answer = await askAndFollow(options, question, { request, idempotencyKey });
  if (answer.outcome === 'completed') return { data: answer.data };
  if (answer.outcome === 'retry' && !question.run.isLastAttempt) {
    throw new TryAgainError(answer.message, { agentMs: answer.afterMs, isTry: true });
  }
  return { reason: answer.message };
};

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
  const answer = await callAgent(options, question, request, key);
  if ('reason' in answer) return answer.reason;
  return answer.data === undefined ? undefined : dropProblem(itemRow(kind, answer.data, record.resourceId));
};

/** Each further round follows a change during the previous one. */
const ROUNDS_MAX = 10;
const TOO_MUCH = 'The resources to keep at the agent do not fit into one call.';

/**
 * Resources switched during the call are not in its list, so the list is sent again until nothing changed:
 * concurrent workers need no lock. Each call has a new key: for a known key the agent would repeat its answer
 * without effect, although another list was sent in between. Only an accepted task is not sent again while
 * its list is the last. After an unknown outcome the list is sent once more, which is harmless: it describes
 * the final state.
 * @returns why it failed; undefined on success
 */
export const keepTheRest = async (
  options: SyndicateOptions,
  question: Question,
  { itemsMax, mayBeEmpty }: KeptSet,
): Promise<string | undefined> => {
  const { record, kind } = question;
  let before: string | undefined;
  /** Valid until another list is sent. */
  let submittedList = submittedListOf(record);
  const refused = new Set<string>();
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const items = await itemsKept(options, record, kind, itemsMax, refused);
    if (items === undefined) return TOO_MUCH;
    if (items.length === 0 && !mayBeEmpty) {
      return `${kind.task} cannot express an empty list: the agent could not be asked to delete its last resource.`;
    }
    // Equal lists have equal bytes.
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
    const last = round === 1 ? submittedList?.idempotencyKey : undefined;
    const known = last?.startsWith(list) === true ? last : undefined;
    if (known === undefined && submittedList !== undefined) {
      await recordLaterList(options, question, submittedList);
      submittedList = undefined;
    }
    const key = known ?? `${list}${randomUUID()}`;
    const answer = await callAgent(options, question, request, key);
    if ('reason' in answer) return answer.reason;
    const row = answer.data === undefined ? undefined : itemRow(kind, answer.data, record.resourceId);
    const problem = row === undefined ? undefined : itemProblem(row);
    if (problem !== undefined) return problem;
    // An earlier list removed this refused version: the next list restores the previous one.
    for (const { resourceId, item } of items) {
      const named = answer.data === undefined ? undefined : itemRow(kind, answer.data, resourceId);
      if (named !== undefined && itemProblem(named) !== undefined) refused.add(canonicalJson(item));
    }
    before = text;
  }
  throw new TryAgainError('The resources to keep at the agent keep changing.', { isTry: true });
};

/** An accepted list. Only its key has two parts. */
const submittedListOf = ({ generation, submitted: last }: SyndicationRecord): SubmittedCall | undefined =>
  last?.generation === generation && last.idempotencyKey.includes('.') ? last : undefined;

/** Before another list is sent: after a crash, the next run sends its list again and polls the open task. */
const recordLaterList = async (
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
    // A deleted resource is switched off soon; until then its entry stays.
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
