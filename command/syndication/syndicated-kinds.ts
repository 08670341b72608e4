import { z } from 'zod';
import type { SyncTask } from '../../domain/agents/agent-resource.ts';
import {
  JsonMembers,
  type AccountReference,
  type ResourceType,
} from '../../domain/syndication/syndication-resource.ts';

/**
 * One resource as an agent takes it; small enough for an event. Where there is more to it (items of a catalog, members of
 * an audience), it says which, and two of the same are the same to the last byte.
 */
export type SyndicatedItem = JsonMembers;

/** A resource as it was read. */
export interface SyndicatedResource {
  readonly item: SyndicatedItem;
  /** Of the last event that it is made of: later ones are not in it. */
  readonly revision: number;
}

/** What a resource is found by. */
export interface ResourceKey {
  readonly customerId: number;
  readonly advertiserId: number;
  /** The buyer's own id of it. */
  readonly resourceId: string;
}

/** One type of resource that can be syndicated, and how agents are told of it. */
export interface SyndicatedKind {
  readonly resourceType: ResourceType;
  readonly task: SyncTask;
  /** Member of the task's request and answer that holds the items. */
  readonly itemsMember: string;
  /** Member of an item that holds its id. */
  readonly idMember: string;
  /**
   * - `whole`: an item is brought to an agent in one call
   * - `members`: in parts, its members
   */
  readonly delivery: 'whole' | 'members';
  /**
   * How an agent is told to drop one: by its name, or by all that stays.
   */
  readonly dropping: { readonly by: 'name' } | KeptSet;
  /** The resource as its stream says now; undefined when the advertiser has none of this id. */
  load(resource: ResourceKey): Promise<SyndicatedResource | undefined>;
  /** What the agent is sent of an item, in full; undefined when that is more than a call may hold. */
  inFull(resource: ResourceKey, item: SyndicatedItem): Promise<SyndicatedItem | undefined>;
}

export interface KeptSet {
  readonly by: 'the-rest';
  /** Of one call. */
  readonly itemsMax: number;
  /** False where AdCP has no way to say that nothing stays. */
  readonly mayBeEmpty: boolean;
}

/** What can be syndicated, by its type. */
export type SyndicatedKinds = Readonly<Record<ResourceType, SyndicatedKind>>;

/** Of one call, in bytes of JSON (AdCP: what callers may send and fetch). */
export const CALL_BYTES_MAX = 5_000_000;

/** What an agent is asked for to take a resource. */
export const takeRequest = (
  { itemsMember }: SyndicatedKind,
  account: AccountReference,
  item: SyndicatedItem,
): JsonMembers => ({ account, [itemsMember]: [item] });

const Items = z.tuple([JsonMembers]);

/** The item of a request to take it. */
export const itemIn = ({ itemsMember }: SyndicatedKind, request: JsonMembers | null): SyndicatedItem =>
  Items.parse(request?.[itemsMember])[0];

/**
 * What an agent is asked for to drop everything but the items. AdCP has no request for dropping one: what is left out
 * goes. With none left, the list is left out, too, as it may not be empty.
 */
export const keepOnlyRequest = (
  { itemsMember }: SyndicatedKind,
  account: AccountReference,
  items: readonly SyndicatedItem[],
): JsonMembers => ({
  account,
  ...(items.length === 0 ? {} : { [itemsMember]: [...items] }),
  delete_missing: true,
});

/** What an agent is asked for to drop one by its name. */
export const dropRequest = (
  { itemsMember, idMember }: SyndicatedKind,
  account: AccountReference,
  resourceId: string,
): JsonMembers => ({ account, [itemsMember]: [{ [idMember]: resourceId, delete: true }] });
