import { audienceEvents, type AudienceBatch } from '../../domain/audiences/audience-events.ts';
import {
  AUDIENCE,
  audienceDecider,
  audienceStream,
  type AudienceCommand,
  type AudienceEvent,
  type AudienceState,
} from '../../domain/audiences/audience.ts';
import type { Audience } from '../../domain/audiences/audience-resource.ts';
import { loadStream } from '../../shared/command/load-stream.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/ids.ts';
import {
  syncResources,
  type Named,
  type SyncedKind,
  type SyncItem,
  type SyncWrites,
} from '../resource-syncs/sync-resources.ts';
import { acceptTask } from '../tasks/accept-task.ts';
import type { SyncAudiencesBody } from './audience-input.ts';
import { readMembers, storeMembers, type MemberChanges } from './audience-members.ts';

const audiences: SyncedKind<AudienceState, AudienceCommand, AudienceEvent, never> = {
  category: AUDIENCE,
  plural: 'audiences',
  aggregate: { decider: audienceDecider, events: audienceEvents },
  archive: (now) => ({ type: 'ArchiveAudience', now }),
  changeOf: (state) => (state.status === 'NONE' ? 'deleted' : state.lastChange),
};

/**
 * Takes a sync of audiences in. Everything that it says is in the log when this returns, and the task is the last of
 * it; the members are in the read model when the task is completed.
 * @returns the id of the task, the same when the request is repeated
 * @throws as `syncResources`; ApiError VALIDATION_ERROR for a member that is no hash
 */
export const syncAudiences = async (
  writes: SyncWrites,
  advertiserId: number,
  body: SyncAudiencesBody,
  request: RequestContext,
): Promise<string> => {
  const items: SyncItem<AudienceCommand>[] = [];
  for (const [n, audience] of body.audiences.entries()) {
    const { audienceId: key, name, consentBasis } = audience;
    if (audience.delete === true) {
      items.push({ key, command: ({ now }) => audiences.archive(now) });
      continue;
    }
    const changes = await readMembers(`audiences.${n}`, audience.add ?? [], audience.remove ?? []);
    let batch: AudienceBatch | undefined;
    items.push({
      key,
      prepare: async (named) => {
        batch = await storeBatch(writes.store, changes, named, request);
      },
      command: ({ id: audienceId, ...named }) => ({
        type: 'SyncAudience',
        ...named,
        audienceId,
        name,
        consentBasis,
        batch,
      }),
    });
  }
  const accountId = body.account?.account_id ?? String(advertiserId);
  const asked = { advertiserId, accountId, items, deleteMissing: body.deleteMissing === true };
  const results = await syncResources(writes, audiences, asked, request);
  const response = {
    audiences: results.map((result) => ({
      audienceId: result.key,
      action: result.action,
      ...(result.action === 'failed' ? { error: result.problem } : {}),
    })),
  };
  return acceptTask(writes, { taskType: 'audience_sync', advertiserId, response }, request);
};

/** The batch is named after the command: repeated, it is the same one. */
const storeBatch = async (
  store: EventStore,
  changes: MemberChanges,
  { id, customerId, now }: Named,
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

/** An audience as its stream says now, and the revision of its last event; undefined when there is none. */
export const loadAudience = async (
  { store, snapshots }: Pick<SyncWrites, 'store' | 'snapshots'>,
  customerId: number,
  audienceId: string,
): Promise<{ readonly audience: Audience; readonly revision: number } | undefined> => {
  const stream = audienceStream(customerId, audienceId);
  const { state, revision } = await loadStream(store, audiences.aggregate, stream, { snapshots });
  return state.status === 'NONE' || typeof revision !== 'number' ? undefined : { audience: state, revision };
};
