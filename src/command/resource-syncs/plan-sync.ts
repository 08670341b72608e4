import {
  resourceSyncDecider,
  resourceSyncEvents,
  resourceSyncStream,
  type ResourceSyncPlan,
} from '../../domain/resource-syncs/resource-sync.ts';
import { isoTimestamp, type Clock } from '../../shared/clock.ts';
import {
  executeCommand,
  loadState,
  TooManyConflictsError,
  type Outcome,
} from '../../shared/command/execute-command.ts';
import type { AggregateType } from '../../shared/command/aggregate.ts';
import type { StorableEvent } from '../../shared/command/recorded-domain-event.ts';
import type { SnapshotStore } from '../../shared/command/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { unavailable } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/ids.ts';

export interface SyncStores {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
}

const plans = { decider: resourceSyncDecider, events: resourceSyncEvents };

/**
 * The plan of this sync: the one that an earlier run of it wrote down, else the one that `make` finds now. Nothing is
 * written down for a request that nobody can repeat.
 * @param make throws what the sync is refused with; then nothing has happened
 */
export const planSync = async (
  { store, clock }: SyncStores,
  { commandId, requestId, isRepeatable, hasRunBefore, isAbandoned, principal }: RequestContext,
  make: () => Promise<ResourceSyncPlan>,
): Promise<ResourceSyncPlan> => {
  if (!isRepeatable) return make();
  const { customerId, actor } = principal;
  const stream = resourceSyncStream(customerId, commandId);
  const isRepeat = await hasRunBefore();
  if (isRepeat) {
    const known = await loadState(store, plans, stream);
    if (known.status === 'PLANNED') return known;
  }
  const outcome = await executeCommand(store, plans, {
    stream,
    command: { type: 'PlanResourceSync', now: isoTimestamp(clock.now()), plan: await make() },
    context: { commandId, customerId, actor, requestId },
    isNew: !isRepeat,
    isAbandoned,
  });
  if (outcome.outcome === 'refused' || outcome.state.status === 'NONE') {
    throw new Error('a plan is never refused');
  }
  return outcome.state;
};

/** One of the things that a sync changes. */
export interface SyncStep<Command> {
  readonly id: string;
  readonly stream: string;
  readonly command: Command;
}

/** The id of the command that carries out one step of a sync. */
export const stepCommandId = (commandId: string, stepId: string): string => derivedId(commandId, stepId);

/** Changes under way at once: their appends share batches, and no sync takes the whole store. */
const AT_ONCE_MAX = 10;

/**
 * Carries out the steps of a sync, each on its own stream. Each has a command id of its own, made of the sync's and
 * the step's, so that the whole may be repeated from wherever it stopped.
 * @returns the outcomes, in the order of the steps
 * @throws ApiError SERVICE_UNAVAILABLE when a step could not be done: others may have been
 */
export const carryOut = async <State, Command, Event extends StorableEvent, Refusal>(
  { store, snapshots }: SyncStores,
  type: AggregateType<State, Command, Event, Refusal>,
  steps: readonly SyncStep<Command>[],
  { commandId, requestId, hasRunBefore, isAbandoned, principal }: RequestContext,
): Promise<readonly Outcome<State, Refusal>[]> => {
  const { customerId, actor } = principal;
  const run = ({ id, stream, command }: SyncStep<Command>): Promise<Outcome<State, Refusal>> =>
    executeCommand(store, type, {
      stream,
      command,
      context: { commandId: stepCommandId(commandId, id), customerId, actor, requestId },
      isAbandoned,
      snapshots,
      hasRunBefore,
    });
  const outcomes: Outcome<State, Refusal>[] = [];
  try {
    for (let from = 0; from < steps.length; from += AT_ONCE_MAX) {
      outcomes.push(...(await Promise.all(steps.slice(from, from + AT_ONCE_MAX).map(run))));
    }
  } catch (error) {
    // Of one stream this would mean that nothing happened.
    if (!(error instanceof TooManyConflictsError)) throw error;
    throw unavailable(
      'The sync was done in part. Repeat the request with the same Idempotency-Key.',
      1,
      error,
    );
  }
  return outcomes;
};
