import { JsonMembers } from '../../../domain/syndication/resource.ts';
import type { SyndicationRecord } from '../../../domain/syndication/syndication.ts';
import { canonicalJson } from '../../../shared/json/canonical-json.ts';
import { derivedId } from '../../../shared/aggregate/ids.ts';
import type { WorkRun } from '../../../shared/work-list/run-work.ts';
import { DONE, type WorkResult } from '../../../shared/work-list/work-list.ts';
import {
  itemIn,
  takeRequest,
  type SyndicatedKind,
  type SyndicatedResource,
} from '../../syndication/syndicated-kinds.ts';
import { dropProblem, itemProblem, itemRow } from './agent-items.ts';
import type { Holders } from './at-agents.ts';
import type { DeliveryPart } from './audience-delivery.ts';
import { scopeOf } from './audience-scope.ts';
import type { FinalAnswer, Question } from './ask-agent.ts';
import { askAndFollow } from './ask-and-follow.ts';
import { completed, failed, isUnderWay, refreshed, started, type RecordAt } from './record-steps.ts';
import { storableJson } from './storable-json.ts';
import type { SyndicateOptions } from './syndicate-options.ts';
import { TryAgainError } from './try-again.ts';
import { keepTheRest } from './withdraw.ts';
import { membersConcealed } from './without-members.ts';
import { mapTexts } from './without-token.ts';

/** Later changes are listed as new work. @throws TryAgainError */
export const take = async (
  options: SyndicateOptions,
  question: Question,
  waiting: RecordAt,
  beginning?: Promise<Beginning>,
): Promise<WorkResult> => {
  const { kind, run } = question;
  const isFixed = waiting.record.request !== null;
  const begun = isFixed ? undefined : await start(options, waiting, kind, beginning);
  const current = isFixed ? waiting : begun?.current;
  if (current?.record.status !== 'SYNCING' || current.record.request === null) return DONE;
  const { record } = current;
  // If that deletion failed, the agent kept its data, and the next call adds to it.
  if (record.atAgent.is === 'DROPPING' && kind.dropping.by === 'the-rest') {
    await keepTheRest(options, { ...question, record }, kind.dropping);
  }
  const parts = kind.delivery === 'members' ? options.audienceParts.of(record) : await wholeOf(record, kind);
  if (parts === undefined)
    return fail(options, current, 'It is more than an agent is sent in one call, 5 MB.');
  let taken = 0;
  for await (const part of parts) {
    // An audience has many parts and may be switched off between them.
    if (taken > 0 && !(await isUnderWay(options, record))) return DONE;
    // The open task belonged to an earlier part.
    const asking = taken === 0 ? record : { ...record, submitted: undefined };
    const conceal = concealing(kind, part);
    const answer = wordsOf(await askAndFollow(options, { ...question, record: asking }, part), conceal);
    if (answer.outcome === 'retry') expectMore(answer, taken, run);
    if (answer.outcome !== 'completed') return fail(options, current, answer.message);
    const row = answer.data === undefined ? COMPLETED : itemRow(kind, answer.data, record.resourceId);
    const problem = part.isDrop ? dropProblem(row) : itemProblem(row);
    if (problem !== undefined) return fail(options, current, conceal(problem));
    await part.taken();
    taken += 1;
    if (part.isLast) {
      await complete(options, current, kind, JsonMembers.parse(mapTexts(storableJson(row), conceal)));
      return begun?.isOwn === true ? DONE : LOOK_AGAIN;
    }
  }
  return LOOK_AGAIN;
};

/** Stored answers must not identify the persons in the request. */
const concealing =
  ({ delivery }: SyndicatedKind, { request }: DeliveryPart) =>
  (text: string): string =>
    delivery === 'members' ? membersConcealed(request)(text) : text;

const wordsOf = (answer: FinalAnswer, conceal: (text: string) => string): FinalAnswer =>
  'message' in answer ? { ...answer, message: conceal(answer.message) } : answer;

/** For an agent that reports completion without a result. */
const COMPLETED = { status: 'completed' };

/** An earlier run has recorded the request, which may lack the change that caused this run. */
const LOOK_AGAIN: WorkResult = { is: 'next', afterMs: 0 };

/** An attempt with progress does not count. */
const expectMore = (
  { message, afterMs }: Extract<FinalAnswer, { outcome: 'retry' }>,
  taken: number,
  run: WorkRun,
): void => {
  if (taken > 0) {
    throw new TryAgainError(message, { afterMs: Math.max(afterMs, 1_000), agentMs: afterMs, isTry: false });
  }
  if (!run.isLastAttempt) throw new TryAgainError(message, { agentMs: afterMs, isTry: true });
};

interface Beginning {
  readonly resource: SyndicatedResource | undefined;
  readonly holders: Holders;
}

/** Call immediately before the start: both may change. @throws TryAgainError while the read model lags */
export const loadBeginning = async (
  { atAgents }: Pick<SyndicateOptions, 'atAgents'>,
  record: SyndicationRecord,
  kind: SyndicatedKind,
): Promise<Beginning> => {
  const [resource, holders] = await Promise.all([kind.load(record), atAgents.holders(record)]);
  return { resource, holders };
};

const start = async (
  options: SyndicateOptions,
  waiting: RecordAt,
  kind: SyndicatedKind,
  beginning: Promise<Beginning> | undefined,
): Promise<{ readonly current: RecordAt; readonly isOwn: boolean } | undefined> => {
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
  const current = await started(options, waiting, request, resource.revision);
  if (current === undefined) return undefined;
  return { current, isOwn: canonicalJson(current.record.request) === canonicalJson(request) };
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

const fail = async (options: SyndicateOptions, current: RecordAt, message: string): Promise<WorkResult> => {
  await failed(options, current, message);
  await options.audienceParts.forget(current.record);
  return DONE;
};

export const refreshIfChanged = async (
  options: SyndicateOptions,
  record: SyndicationRecord,
  kind: SyndicatedKind,
): Promise<void> => {
  if (record.status !== 'COMPLETED' || record.request === null) return;
  const resource: SyndicatedResource | undefined = await kind.load(record);
  // A deleted resource is listed separately, to be switched off.
  if (resource === undefined) return;
  if (canonicalJson([resource.item]) === canonicalJson(record.request[kind.itemsMember])) return;
  await refreshed(options, record, resource.revision);
};
