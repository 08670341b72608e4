import type { ResourceSyncPlan } from '../../domain/resource-syncs/events.ts';
import { resourceSyncAggregate } from '../../domain/resource-syncs/resource-sync.ts';
import { isoTimestamp, type Clock } from '../../shared/async/clock.ts';
import { TooManyConflictsError, type Outcome } from '../../shared/aggregate/execute-command.ts';
import { handlerFor, ofRequest, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { unavailable } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';

export interface SyncStores {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
}

const plans = handlerFor(resourceSyncAggregate);

/** The plan that an earlier run of this request recorded, else a new one. */
export const planSync = async (
  stores: SyncStores,
  request: RequestContext,
  make: () => Promise<ResourceSyncPlan>,
): Promise<ResourceSyncPlan> => {
  const { commandId, isRepeatable } = request;
  if (!isRepeatable) return make();
  const known = await plans.doneBefore(stores, commandId, request);
  if (known !== undefined) return known;
  const now = isoTimestamp(stores.clock.now());
  return plans.create(stores, commandId, { type: 'PlanResourceSync', now, plan: await make() }, request);
};

export interface SyncStep<Command> {
  readonly id: string;
  readonly command: Command;
}

export interface SyncHandler<State, Command, Refusal> {
  readonly execute: (
    stores: CommandStores,
    id: string,
    command: Command,
    options: ReturnType<typeof ofRequest>,
  ) => Promise<Outcome<State, Refusal>>;
}

export const stepRequest = (request: RequestContext, stepId: string): RequestContext => ({
  ...request,
  commandId: derivedId(request.commandId, stepId),
});

/** Concurrent changes of one sync. Their appends share batches, and other requests still get capacity. */
const AT_ONCE_MAX = 10;

/** Steps are repeatable: ids derive from the sync. @throws ApiError SERVICE_UNAVAILABLE if one failed */
export const carryOut = async <State, Command, Refusal>(
  stores: SyncStores,
  { execute }: SyncHandler<State, Command, Refusal>,
  steps: readonly SyncStep<Command>[],
  request: RequestContext,
): Promise<readonly Outcome<State, Refusal>[]> => {
  const run = ({ id, command }: SyncStep<Command>): Promise<Outcome<State, Refusal>> =>
    execute(stores, id, command, ofRequest(stepRequest(request, id)));
  const outcomes: Outcome<State, Refusal>[] = [];
  try {
    for (let from = 0; from < steps.length; from += AT_ONCE_MAX) {
      outcomes.push(...(await Promise.all(steps.slice(from, from + AT_ONCE_MAX).map(run))));
    }
  } catch (error) {
    // For a single stream this error means that nothing changed, but here other steps may be done.
    if (!(error instanceof TooManyConflictsError)) throw error;
    throw unavailable(
      'The sync was done in part. Repeat the request with the same Idempotency-Key.',
      1,
      error,
    );
  }
  return outcomes;
};
