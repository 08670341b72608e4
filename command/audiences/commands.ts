import type { AudienceBatch } from '../../domain/audiences/events.ts';
import { AUDIENCE, type AudienceCommand, type AudienceState } from '../../domain/audiences/audience.ts';
import type { AudienceInput, SyncAudiencesBody } from '../../domain/audiences/input.ts';
import type { AudienceSyncResponse, FailedMember } from '../../domain/tasks/resource.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import {
  problemOf,
  syncResources,
  type ResourceIdentity,
  type SyncedKind,
  type SyncItem,
  type SyncResult,
  type SyncWrites,
} from '../resource-syncs/commands.ts';
import { acceptTask } from '../tasks/commands.ts';
import { readMembers, storeMembers, type MemberChanges, type ReadMembers } from './audience-members.ts';
import { executeOnAudience } from './handler.ts';

const audiences: SyncedKind<AudienceState, AudienceCommand, never> = {
  category: AUDIENCE,
  plural: 'audiences',
  execute: executeOnAudience,
  archive: (now) => ({ type: 'ArchiveAudience', now }),
};

/** Per task, over all audiences: about 100 kB. */
const FAILED_MEMBERS_MAX = 500;

/** Appends the task last: a read model with the task has the members. A repeat returns the same id. */
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
  readonly item?: SyncItem<AudienceCommand>;
  readonly problem?: string;
  readonly failedMembers: ReadMembers['failed'];
}

const itemOf = async (
  read: AudienceInput,
  store: EventStore,
  request: RequestContext,
): Promise<AudienceItem> => {
  if ('sent' in read) {
    const { key } = read;
    const problem = problemOf(read);
    return { ...(key === undefined ? { problem } : { item: { key, problem } }), failedMembers: [] };
  }
  const { key, item: audience } = read;
  const { name, consentBasis, add = [], remove = [] } = audience;
  if (audience.delete === true) {
    return { item: { key, command: ({ now }) => audiences.archive(now) }, failedMembers: [] };
  }
  const { failed: failedMembers, ...changes } = await readMembers(add, remove);
  const [first] = failedMembers;
  if (first !== undefined && failedMembers.length === add.length + remove.length) {
    const problem = `None of its members is valid. ${first.list}.${first.index}: ${first.reason}`;
    return { item: { key, problem }, failedMembers };
  }
  const command = async (named: ResourceIdentity): Promise<AudienceCommand> => {
    const batch = await storeBatch(store, changes, named, request);
    const { id: audienceId, ...identity } = named;
    return { type: 'SyncAudience', ...identity, audienceId, name, consentBasis, batch };
  };
  return { item: { key, command }, failedMembers };
};

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
