import { JsonMembers } from '../../../domain/syndication/syndication-resource.ts';
import type { SyndicationRecord } from '../../../domain/syndication/syndication.ts';
import { canonicalJson } from '../../../shared/json/canonical-json.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import { PostponeJobError, RetryJobError, type JobRun } from '../../../shared/queue/job-queue.ts';
import {
  itemIn,
  takeRequest,
  type SyndicatedKind,
  type SyndicatedResource,
} from '../../syndication/syndicated-kinds.ts';
import { dropProblem, itemProblem, itemRow } from './agent-items.ts';
import type { DeliveryPart } from './audience-parts.ts';
import { scopeOf } from './audience-scope.ts';
import type { FinalAnswer, Question } from './ask-agent.ts';
import { askAndFollow } from './ask-and-follow.ts';
import { completed, failed, isUnderWay, refreshed, started, type RecordAt } from './record-steps.ts';
import { storableJson } from './storable-json.ts';
import type { SyndicateOptions } from './syndicate-options.ts';
import { keepTheRest } from './withdraw.ts';
import type { Holders } from './work-list.ts';
import { membersConcealed } from './without-members.ts';
import { mapTexts } from './without-token.ts';

/**
 * Has the agent take what is switched on, in one call or in parts. What was changed after it was loaded is on the work
 * list by itself.
 * @param waiting the question's record, as it was loaded
 * @param beginning what was loaded with it. Default: it is loaded now, where it is needed
 * @throws RetryJobError, PostponeJobError when it should be tried again
 */
export const take = async (
  options: SyndicateOptions,
  question: Question,
  waiting: RecordAt,
  beginning?: Promise<Beginning>,
): Promise<void> => {
  const { kind, run } = question;
  const current = waiting.record.request === null ? await start(options, waiting, kind, beginning) : waiting;
  if (current?.record.status !== 'SYNCING' || current.record.request === null) return;
  const { record } = current;
  // An agent that cannot be told that has kept what it has: the call that follows adds to it.
  if (record.atAgent.is === 'DROPPING' && kind.dropping.by === 'the-rest') {
    await keepTheRest(options, { ...question, record }, kind.dropping);
  }
  const parts = kind.delivery === 'members' ? options.audienceParts.of(record) : await wholeOf(record, kind);
  if (parts === undefined)
    return fail(options, current, 'It is more than an agent is sent in one call, 5 MB.');
  let taken = 0;
  for await (const part of parts) {
    // An audience has many, and may have been switched off meanwhile.
    if (taken > 0 && !(await isUnderWay(options, record))) return;
    // What was under way is an earlier part's once that one was taken.
    const asking = taken === 0 ? record : { ...record, submitted: undefined };
    const conceal = concealing(kind, part);
    const answer = wordsOf(await askAndFollow(options, { ...question, record: asking }, part), conceal);
    if (answer.outcome === 'retry') expectMore(answer, taken, run);
    if (answer.outcome !== 'completed') return fail(options, current, answer.message);
    const row = answer.data === undefined ? DONE : itemRow(kind, answer.data, record.resourceId);
    const problem = part.isDrop ? dropProblem(row) : itemProblem(row);
    if (problem !== undefined) return fail(options, current, conceal(problem));
    await part.taken();
    taken += 1;
    if (part.isLast) {
      return complete(options, current, kind, JsonMembers.parse(mapTexts(storableJson(row), conceal)));
    }
  }
};

/** What is kept of an agent's words must not name the persons that it was sent. */
const concealing =
  ({ delivery }: SyndicatedKind, { request }: DeliveryPart) =>
  (text: string): string =>
    delivery === 'members' ? membersConcealed(request)(text) : text;

const wordsOf = (answer: FinalAnswer, conceal: (text: string) => string): FinalAnswer =>
  'message' in answer ? { ...answer, message: conceal(answer.message) } : answer;

/** Of an agent that says of what it took in that it is done, and no more. */
const DONE = { status: 'completed' };

/** An attempt that got something across is none of those that are counted. */
const expectMore = (
  { message, afterMs }: Extract<FinalAnswer, { outcome: 'retry' }>,
  taken: number,
  run: JobRun,
): void => {
  if (taken > 0) throw new PostponeJobError(message, Math.max(afterMs, 1_000));
  if (!run.isLastAttempt) throw new RetryJobError(message, afterMs);
};

/** What a generation that nobody has started yet begins with. */
interface Beginning {
  /** Undefined when there is none any more. */
  readonly resource: SyndicatedResource | undefined;
  readonly holders: Holders;
}

/**
 * Loads what a generation begins with; to be called right before it does, as either may change.
 * @throws PostponeJobError while it is not known who else has something of its id
 */
export const loadBeginning = async (
  { workList }: Pick<SyndicateOptions, 'workList'>,
  record: SyndicationRecord,
  kind: SyndicatedKind,
): Promise<Beginning> => {
  const [resource, holders] = await Promise.all([kind.load(record), workList.holders(record)]);
  return { resource, holders };
};

/** Fixes what the agent is asked for; undefined when there is nothing to ask for any more. */
const start = async (
  options: SyndicateOptions,
  waiting: RecordAt,
  kind: SyndicatedKind,
  beginning: Promise<Beginning> | undefined,
): Promise<RecordAt | undefined> => {
  const { record } = waiting;
  const { resource, holders } = await (beginning ?? loadBeginning(options, record, kind));
  if (resource === undefined) {
    await failed(options, waiting, 'The resource does not exist any more.');
    return undefined;
  }
  const { isOtherAdvertisers, isOtherRegistrations, isUnsure } = holders;
  if (isOtherAdvertisers) {
    await failed(
      options,
      waiting,
      'Another advertiser has something of this id at the same account of the agent: switch it off there, or use another id.',
    );
    return undefined;
  }
  const scope =
    kind.delivery === 'members' ? await scopeOf(options, record, isUnsure || isOtherRegistrations) : {};
  const request = { ...takeRequest(kind, record.account, resource.item), ...scope };
  return started(options, waiting, request, resource.revision);
};

const wholeOf = async (
  record: SyndicationRecord,
  kind: SyndicatedKind,
): Promise<readonly DeliveryPart[] | undefined> => {
  const item = itemIn(kind, record.request);
  const full = await kind.inFull(record, item);
  if (full === undefined) return undefined;
  return [
    {
      idempotencyKey: derivedId(record.recordId, `${record.generation}`),
      request: takeRequest(kind, record.account, full),
      isDrop: false,
      isLast: true,
      taken: async () => undefined,
    },
  ];
};

const complete = async (
  options: SyndicateOptions,
  current: RecordAt,
  kind: SyndicatedKind,
  responseData: JsonMembers,
): Promise<void> => {
  await completed(options, current, responseData);
  if (kind.delivery === 'members') await options.audienceParts.forget(current.record);
};

const fail = async (options: SyndicateOptions, current: RecordAt, message: string): Promise<void> => {
  await failed(options, current, message);
  await options.audienceParts.forget(current.record);
};

/**
 * Begins the generation that brings the agent up to date, if what it has is not what there is now.
 * @returns whether it did
 */
export const refreshIfChanged = async (
  options: SyndicateOptions,
  record: SyndicationRecord,
  kind: SyndicatedKind,
): Promise<boolean> => {
  if (record.status !== 'COMPLETED' || record.request === null) return false;
  const resource: SyndicatedResource | undefined = await kind.load(record);
  // What was deleted is switched off, by whoever finds it on the list for that.
  if (resource === undefined) return false;
  if (canonicalJson([resource.item]) === canonicalJson(record.request[kind.itemsMember])) return false;
  await refreshed(options, record, resource.revision);
  return true;
};
