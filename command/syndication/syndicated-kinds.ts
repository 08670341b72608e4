import { z } from 'zod';
import type { SyncTask } from '../../domain/agents/resource.ts';
import { JsonMembers, type AccountReference, type ResourceType } from '../../domain/syndication/resource.ts';

/** In AdCP's form; references catalog items and audience members. Equal resources have equal bytes. */
export type SyndicatedItem = JsonMembers;

export interface SyndicatedResource {
  readonly item: SyndicatedItem;
  /** The revision of the last event included in `item`. */
  readonly revision: number;
}

export interface ResourceKey {
  readonly customerId: number;
  readonly advertiserId: number;
  readonly resourceId: string;
}

export interface SyndicatedKind {
  readonly resourceType: ResourceType;
  readonly task: SyncTask;
  /** Member of the task's request and answer that contains the items. */
  readonly itemsMember: string;
  readonly idMember: string;
  /** `whole`: one call per item. `members`: its members are sent in several calls. */
  readonly delivery: 'whole' | 'members';
  readonly dropping: { readonly by: 'name' } | KeptSet;
  load(resource: ResourceKey): Promise<SyndicatedResource | undefined>;
  /** Undefined when the item exceeds the size of a call. */
  inFull(resource: ResourceKey, item: SyndicatedItem): Promise<SyndicatedItem | undefined>;
}

export interface KeptSet {
  readonly by: 'the-rest';
  readonly itemsMax: number;
  /** False when AdCP cannot express an empty set. */
  readonly mayBeEmpty: boolean;
}

export type SyndicatedKinds = Readonly<Record<ResourceType, SyndicatedKind>>;

/** Maximum request size in bytes of JSON (AdCP: what callers may send and fetch). */
export const CALL_BYTES_MAX = 5_000_000;

export const takeRequest = (
  { itemsMember }: SyndicatedKind,
  account: AccountReference,
  item: SyndicatedItem,
): JsonMembers => ({ account, [itemsMember]: [item] });

const Items = z.tuple([JsonMembers]);

export const itemIn = ({ itemsMember }: SyndicatedKind, request: JsonMembers | null): SyndicatedItem =>
  Items.parse(request?.[itemsMember])[0];

/** AdCP deletes none of these types by id: the request names those to keep. An empty list is not allowed. */
export const keepOnlyRequest = (
  { itemsMember }: SyndicatedKind,
  account: AccountReference,
  items: readonly SyndicatedItem[],
): JsonMembers => ({
  account,
  ...(items.length === 0 ? {} : { [itemsMember]: [...items] }),
  delete_missing: true,
});

export const dropRequest = (
  { itemsMember, idMember }: SyndicatedKind,
  account: AccountReference,
  resourceId: string,
): JsonMembers => ({ account, [itemsMember]: [{ [idMember]: resourceId, delete: true }] });
