import { silenceOf } from '../../../domain/agents/resource.ts';
import { isOn, isWaiting } from '../../../domain/syndication/syndication-states.ts';
import type { WorkRun } from '../../../shared/work-list/run-work.ts';
import { DONE, type WorkResult } from '../../../shared/work-list/work-list.ts';
import { loadAdvertiser } from '../../advertisers/handler.ts';
import { loadAgent } from '../../agents/handler.ts';
import { awaitEarlier } from './ask-agent.ts';
import { failed, isSameSwitchOn, loadRecord, switchOff, withdrawn } from './record-steps.ts';
import type { SyndicateOptions } from './syndicate-options.ts';
import { loadBeginning, refreshIfChanged, take } from './deliver.ts';
import { TryAgainError } from './try-again.ts';
import { withdraw } from './withdraw.ts';

export interface Work {
  readonly customerId: number;
  readonly recordId: string;
  readonly generation: number;
  /** The advertiser was archived or the resource deleted, even if restored since. */
  readonly archived: boolean;
}

const NO_AGENT = 'The agent is not registered any more.';

/** May run twice: each step is one command with a fixed id. @throws TryAgainError */
export const syndicate = async (options: SyndicateOptions, work: Work, run: WorkRun): Promise<WorkResult> => {
  const loaded = await loadRecord(options, work);
  if (loaded === undefined) return DONE;
  const { record } = loaded;
  const isCurrent =
    record.generation === work.generation ||
    (work.archived && isOn(record) && (await isSameSwitchOn(options, record, work.generation)));
  if (!isCurrent) return DONE;
  const kind = options.kinds[record.resourceType];
  // Not loaded early while a task is open at the agent, which may take long.
  const isToBegin = isWaiting(record) && record.request === null && record.submitted === undefined;
  const beginning = isOn(record) && isToBegin ? loadBeginning(options, record, kind) : undefined;
  // Ignore the error if the result is no longer used.
  beginning?.catch(() => undefined);
  const [advertiser, agent] = await Promise.all([
    loadAdvertiser(options, record.customerId, record.advertiserId),
    loadAgent(options, record.customerId, record.agentId),
  ]);
  const isArchived = advertiser?.status !== 'ACTIVE';
  if (isOn(record) && (work.archived || isArchived)) {
    await switchOff(options, record, isArchived);
    return DONE;
  }
  if (!isWaiting(record)) {
    await refreshIfChanged(options, record, kind);
    return DONE;
  }
  if (agent === undefined) {
    await (isOn(record) ? failed(options, loaded, NO_AGENT) : withdrawn(options, loaded, NO_AGENT));
    return DONE;
  }
  if (agent.unreachable !== undefined && record.status === 'PENDING') {
    if (agent.unreachable.nextCheckAt !== undefined)
      throw untilChecked(options, agent.unreachable.nextCheckAt);
    await failed(options, loaded, silenceOf(agent.url, agent.unreachable));
    return DONE;
  }
  const question = { record, kind, agent, run, correlationId: loaded.correlationId };
  await awaitEarlier(options, question);
  if (isOn(record)) return take(options, question, loaded, beginning);
  await withdraw(options, question);
  return DONE;
};

/** Time between a due check and its recorded answer. */
const CHECKED_MS = 2_000;

const untilChecked = ({ clock }: SyndicateOptions, nextCheckAt: string): TryAgainError =>
  new TryAgainError('The agent does not answer.', {
    afterMs: Math.max(Date.parse(nextCheckAt) - clock.now(), 0) + CHECKED_MS,
    isTry: false,
  });

const GIVEN_UP = 'The exchange could not finish this, although it tried often.';
const GIVEN_UP_MS = 60 * 60_000;

export const giveUp = async (options: SyndicateOptions, work: Work): Promise<WorkResult> => {
  const loaded = await loadRecord(options, work);
  if (loaded === undefined || (loaded.record.generation !== work.generation && !work.archived)) return DONE;
  const { record } = loaded;
  // The record cannot say that it is not up to date, or not switched off: the entry stays.
  if (work.archived || !isWaiting(record)) {
    return { is: 'again', afterMs: GIVEN_UP_MS, isTry: false, reason: GIVEN_UP };
  }
  await (isOn(record)
    ? failed(options, loaded, `${GIVEN_UP} Switch it on again to repeat it.`)
    : withdrawn(options, loaded, `${GIVEN_UP} Switch it off once more to repeat it.`));
  await options.audienceParts.forget(record);
  return DONE;
};
