import { isoTimestamp } from '../../shared/async/clock.ts';
import type { Outcome } from '../../shared/aggregate/execute-command.ts';
import { ApiError, unavailable } from '../../shared/http/errors.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { ReadModelBehindError } from '../../shared/follow-log/consistent-read.ts';
import { writableAdvertiser } from '../advertisers/load.ts';
import { carryOut, planSync, type SyncHandler, type SyncStep, type SyncStores } from './plan-sync.ts';

export interface SyncWrites extends SyncStores {
  /** Reads the account's own writes. @throws ReadModelBehindError */
  readonly activeKeys: (customerId: number, advertiserId: number) => Promise<readonly string[]>;
}

export interface ResourceIdentity {
  readonly now: string;
  readonly id: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly key: string;
}

/** A resource type whose resources an advertiser names by its own keys; each has its own stream. */
export interface SyncedKind<State, Command, Refusal> {
  readonly category: string;
  readonly plural: string;
  readonly handler: SyncHandler<State, Command, Refusal>;
  readonly archive: (now: string) => Command;
  readonly changeOf: (state: State) => 'created' | 'updated' | 'unchanged' | 'deleted';
}

/** One item of a sync: a command for the resource, or the problem of the item. */
export interface SyncItem<Command> {
  readonly key: string;
  readonly problem?: string;
  /** Stores data that the command refers to. Must be safe to repeat and have no effect without the command. */
  readonly prepare?: (named: ResourceIdentity) => Promise<void>;
  readonly command?: (named: ResourceIdentity) => Command;
}

export interface SyncRequest<Command> {
  readonly advertiserId: number;
  readonly accountId: string;
  readonly items: readonly SyncItem<Command>[];
  readonly deleteMissing: boolean;
}

export type SyncResult<State> =
  | { readonly key: string; readonly action: 'created' | 'updated' | 'unchanged'; readonly state: State }
  | { readonly key: string; readonly action: 'deleted' }
  | { readonly key: string; readonly action: 'failed'; readonly problem: string };

/** Approximate limit per advertiser and type: two concurrent syncs may both take the last free place. */
const ACTIVE_MAX = 500;

/**
 * Creates, updates and deletes an advertiser's resources of one type as the items say.
 * @returns the result of each item in order, then the resources deleted because no item names them
 * @throws ApiError NOT_FOUND, CONFLICT (archived), VALIDATION_ERROR; SERVICE_UNAVAILABLE when the sync was, or may
 *   have been, done in part
 */
export const syncResources = async <State, Command, Refusal>(
  writes: SyncWrites,
  kind: SyncedKind<State, Command, Refusal>,
  { advertiserId, accountId, items, deleteMissing }: SyncRequest<Command>,
  request: RequestContext,
): Promise<readonly SyncResult<State>[]> => {
  const { customerId } = request.principal;
  const { missing, refused } = await planSync(writes, request, async () => {
    await writableAdvertiser(writes, customerId, advertiserId);
    expectAccount(accountId, advertiserId);
    const active = new Set(await writes.activeKeys(customerId, advertiserId).catch(behind));
    return { advertiserId, ...compare(active, items, deleteMissing) };
  });
  const now = isoTimestamp(writes.clock.now());
  const namedOf = (key: string): ResourceIdentity => {
    const id = resourceIdOf(kind.category, customerId, advertiserId, key);
    return { now, id, customerId, advertiserId, key };
  };
  const stepOf = (named: ResourceIdentity, command: Command): SyncStep<Command> => ({
    id: named.id,
    command,
  });
  const steps = new Map<string, SyncStep<Command>>();
  for (const { key, prepare, command } of items) {
    if (command === undefined || refused.includes(key)) continue;
    const named = namedOf(key);
    await prepare?.(named);
    steps.set(key, stepOf(named, command(named)));
  }
  for (const key of missing) steps.set(key, stepOf(namedOf(key), kind.archive(now)));
  const outcomes = await carryOut(writes, kind.handler, [...steps.values()], request);
  const outcomeOf = new Map([...steps.keys()].map((key, n) => [key, outcomes[n]]));
  return [
    ...items.map(({ key, problem }): SyncResult<State> => {
      if (problem !== undefined) return { key, action: 'failed', problem };
      if (refused.includes(key)) return { key, action: 'failed', problem: tooMany(kind.plural) };
      return done(kind, key, outcomeOf.get(key));
    }),
    ...missing.map((key): SyncResult<State> => ({ key, action: 'deleted' })),
  ];
};

const tooMany = (plural: string): string =>
  `The advertiser has ${ACTIVE_MAX} ${plural}, which is the limit. Delete some first.`;

const expectAccount = (accountId: string, advertiserId: number): void => {
  if (accountId === String(advertiserId)) return;
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: `account.account_id must be the advertiser of the path, "${advertiserId}".`,
    field: 'account.account_id',
  });
};

const behind = (error: unknown): never => {
  if (!(error instanceof ReadModelBehindError)) throw error;
  throw unavailable('Your last change is not visible everywhere yet. Repeat the request after Retry-After.');
};

const compare = (
  active: ReadonlySet<string>,
  items: readonly SyncItem<unknown>[],
  deleteMissing: boolean,
): { readonly missing: string[]; readonly refused: string[] } => {
  const named = new Set(items.map(({ key }) => key));
  const missing = deleteMissing ? [...active].filter((key) => !named.has(key)).sort() : [];
  const room = Math.max(0, ACTIVE_MAX - (active.size - missing.length));
  const fresh = items.filter(({ key, problem }) => problem === undefined && !active.has(key));
  return { missing, refused: fresh.slice(room).map(({ key }) => key) };
};

const done = <State, Command, Refusal>(
  { changeOf }: SyncedKind<State, Command, Refusal>,
  key: string,
  outcome: Outcome<State, Refusal> | undefined,
): SyncResult<State> => {
  if (outcome?.outcome !== 'done') throw new Error('an item of a sync is never refused');
  const { state, position } = outcome;
  const action = position === undefined ? 'unchanged' : changeOf(state);
  return action === 'deleted' ? { key, action } : { key, action, state };
};
