import type { InvalidItem } from '../../domain/resource-syncs/input.ts';
import type { SyncedResource } from '../../domain/resource-syncs/resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import type { Outcome } from '../../shared/aggregate/execute-command.ts';
import { ApiError, unavailable } from '../../shared/http/errors.ts';
import { check, sentenceOf } from '../../shared/http/problems.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { RefusedItem } from '../../shared/json/refused-item.ts';
import { resourceIdOf } from '../../shared/aggregate/ids.ts';
import { ReadModelBehindError } from '../../shared/follow-log/consistent-read.ts';
import { writableAdvertiser } from '../advertisers/handler.ts';
import { carryOut, planSync, type SyncHandler, type SyncStep, type SyncStores } from './plan-sync.ts';

export interface SyncWrites extends SyncStores {
  readonly activeKeys: (customerId: number, advertiserId: number) => Promise<readonly string[]>;
}

export interface ResourceIdentity {
  readonly now: string;
  readonly id: string;
  readonly customerId: number;
  readonly advertiserId: number;
  readonly key: string;
}

export interface SyncedKind<State, Command, Refusal> extends SyncHandler<State, Command, Refusal> {
  readonly category: string;
  readonly plural: string;
  readonly archive: (now: string) => Command;
}

type SyncedState = { readonly status: 'NONE' } | SyncedResource;

export type SyncItem<Command> =
  | { readonly key: string; readonly problem: string }
  | {
      readonly key: string;
      /** May first store data that the command refers to, if a repeat is safe and nothing else shows it. */
      readonly command: (named: ResourceIdentity) => Command | Promise<Command>;
    };

export const problemOf = ({ schema, sent }: InvalidItem<unknown>): string => {
  if (sent instanceof RefusedItem) return `The item must not hold ${sent.fault}`;
  const [first] = check(schema, sent).problems ?? [];
  return first === undefined ? 'The item is not valid' : sentenceOf(first, 'The item');
};

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
 * @returns the items' results in order, then the resources deleted because no item names them
 * @throws ApiError NOT_FOUND, CONFLICT (archived), VALIDATION_ERROR; SERVICE_UNAVAILABLE: part may be done
 */
export const syncResources = async <State extends SyncedState, Command, Refusal>(
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
  const steps = new Map<string, SyncStep<Command>>();
  for (const item of items) {
    if ('problem' in item || refused.includes(item.key)) continue;
    const named = namedOf(item.key);
    steps.set(item.key, { id: named.id, command: await item.command(named) });
  }
  for (const key of missing) steps.set(key, { id: namedOf(key).id, command: kind.archive(now) });
  const outcomes = await carryOut(writes, kind, [...steps.values()], request);
  const outcomeOf = new Map([...steps.keys()].map((key, n) => [key, outcomes[n]]));
  return [
    ...items.map((item): SyncResult<State> => {
      const { key } = item;
      if ('problem' in item) return { ...item, action: 'failed' };
      if (refused.includes(key)) return { key, action: 'failed', problem: tooMany(kind.plural) };
      return done(key, outcomeOf.get(key));
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
  const fresh = items.filter((item) => !('problem' in item) && !active.has(item.key));
  return { missing, refused: fresh.slice(room).map(({ key }) => key) };
};

const done = <State extends SyncedState, Refusal>(
  key: string,
  outcome: Outcome<State, Refusal> | undefined,
): SyncResult<State> => {
  if (outcome?.outcome !== 'done') throw new Error('an item of a sync is never refused');
  const { state, position } = outcome;
  const action = position === undefined || state.status === 'NONE' ? 'unchanged' : state.lastChange;
  return action === 'deleted' ? { key, action } : { key, action, state };
};
