import type { AudienceBatch } from '../../domain/audiences/audience-events.ts';
import {
  AUDIENCE,
  audienceAggregate,
  type AudienceCommand,
  type AudienceState,
} from '../../domain/audiences/audience.ts';
import type { Audience } from '../../domain/audiences/audience-resource.ts';
import type { AudienceSyncResponse, FailedMember } from '../../domain/tasks/task-resource.ts';
import { handlerFor, type CommandStores } from '../../shared/aggregate/handler-for.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import {
  syncResources,
  type ResourceIdentity,
  type SyncedKind,
  type SyncItem,
  type SyncResult,
  type SyncWrites,
} from '../resource-syncs/sync-resources.ts';
import { acceptTask } from '../tasks/accept-task.ts';
import type { ReadAudience, SyncAudiencesBody } from './audience-input.ts';
import { readMembers, storeMembers, type MemberChanges, type ReadMembers } from './audience-members.ts';

const handler = handlerFor(audienceAggregate);
export const executeOnAudience = handler.execute;

const audiences: SyncedKind<AudienceState, AudienceCommand, never> = {
  category: AUDIENCE,
  plural: 'audiences',
  handler,
  archive: (now) => ({ type: 'ArchiveAudience', now }),
  changeOf: (state) => (state.status === 'NONE' ? 'deleted' : state.lastChange),
};

/** Per task, over all audiences: about 100 kB. */
const FAILED_MEMBERS_MAX = 500;

/**
 * Accepts a sync of audiences. When it returns, all events are in the log, the task last. When the task is completed,
 * the read model contains the members. An invalid audience or member fails in the task's response, and the others are
 * processed.
 * @returns the id of the task, the same when the request is repeated
 * @throws as `syncResources`
 */
export const syncAudiences = async (
  writes: SyncWrites,
  advertiserId: number,
  body: SyncAudiencesBody,
  request: RequestContext,
): Promise<string> => {
  const items: AudienceItem[] = [];
  for (const audience of body.audiences) items.push(await itemOf(audience, writes.store, request));
  const accountId = body.account?.account_id ?? String(advertiserId);
  const named = items.flatMap(({ item }) => item ?? []);
  const asked = { advertiserId, accountId, items: named, deleteMissing: body.deleteMissing === true };
  const results = await syncResources(writes, audiences, asked, request);
  return acceptTask(
    writes,
    { taskType: 'audience_sync', advertiserId, response: responseOf(items, results) },
    request,
  );
};

interface AudienceItem {
  /** Absent for an item without an id. */
  readonly item?: SyncItem<AudienceCommand>;
  readonly problem?: string;
  readonly failedMembers: ReadMembers['failed'];
}

const itemOf = async (
  read: ReadAudience,
  store: EventStore,
  request: RequestContext,
): Promise<AudienceItem> => {
  const { key } = read;
  if (key === undefined) return { problem: read.problem, failedMembers: [] };
  if ('problem' in read) return { item: read, failedMembers: [] };
  const { name, consentBasis, add = [], remove = [] } = read.item;
  if (read.item.delete === true) {
    return { item: { key, command: ({ now }) => audiences.archive(now) }, failedMembers: [] };
  }
  const { failed: failedMembers, ...changes } = await readMembers(add, remove);
  const [first] = failedMembers;
  if (first !== undefined && failedMembers.length === add.length + remove.length) {
    const problem = `None of its members is valid. ${first.list}.${first.index}: ${first.reason}`;
    return { item: { key, problem }, failedMembers };
  }
  let batch: AudienceBatch | undefined;
  const item: SyncItem<AudienceCommand> = {
    key,
    prepare: async (named) => {
      batch = await storeBatch(store, changes, named, request);
    },
    command: ({ id: audienceId, ...named }) => ({
      type: 'SyncAudience',
      ...named,
      audienceId,
      name,
      consentBasis,
      batch,
    }),
  };
  return { item, failedMembers };
};

/** @param results of the items with an id in order, then of the deleted audiences */
const responseOf = (
  items: readonly AudienceItem[],
  results: readonly SyncResult<AudienceState>[],
): AudienceSyncResponse => {
  const left = [...results];
  const failedMembers: FailedMember[] = [];
  const synced = items.map(({ item, problem = '', failedMembers: failed }, index) => {
    const result = item === undefined ? undefined : left.shift();
    if (result === undefined) return { audienceId: null, action: 'failed' as const, index, error: problem };
    const { key: audienceId, action } = result;
    for (const one of failed.slice(0, FAILED_MEMBERS_MAX - failedMembers.length)) {
      failedMembers.push({ audienceId, ...one });
    }
    return {
      audienceId,
      action,
      ...(action === 'failed' ? { index, error: result.problem } : {}),
      ...(failed.length === 0 ? {} : { membersFailed: failed.length }),
    };
  });
  const missing = left.map(({ key: audienceId, action }) => ({ audienceId, action }));
  return {
    audiences: [...synced, ...missing],
    ...(failedMembers.length === 0 ? {} : { failedMembers }),
  };
};

/** The batch id is derived from the command, so a repeat uses the same batch. */
const storeBatch = async (
  store: EventStore,
  changes: MemberChanges,
  { id, customerId, now }: ResourceIdentity,
  { commandId, requestId, principal: { actor } }: RequestContext,
): Promise<AudienceBatch | undefined> => {
  if (changes.add.length === 0 && changes.remove.length === 0) return undefined;
  return storeMembers(store, derivedId(commandId, `members ${id}`), changes, {
    customerId,
    actor,
    requestId,
    now,
  });
};

/** The current audience and its stream's revision; undefined when it does not exist. */
export const loadAudience = async (
  stores: CommandStores,
  customerId: number,
  audienceId: string,
): Promise<{ readonly audience: Audience; readonly revision: number } | undefined> => {
  const { state, revision } = await handler.loadAt(stores, customerId, audienceId);
  return state.status === 'NONE' || typeof revision !== 'number' ? undefined : { audience: state, revision };
};
