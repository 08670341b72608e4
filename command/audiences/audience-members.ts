import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  audienceBatchEvents,
  type AudienceBatch,
  type AudienceMember,
  type MemberUid,
} from '../../domain/audiences/events.ts';
import { audienceBatchStream } from '../../domain/audiences/audience.ts';
import type { FailedMember } from '../../domain/tasks/resource.ts';
import type { CommandContext } from '../../shared/aggregate/command-context.ts';
import { toNewEvents } from '../../shared/aggregate/recorded-domain-event.ts';
import { appendInChunks } from '../../shared/event-store/append-in-chunks.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';

/** Checked without zod: 100,000 members take a fraction of a second. */
interface IdentifierFormat {
  readonly pattern: RegExp;
  readonly rule: string;
}
const HASH: IdentifierFormat = {
  pattern: /^[0-9a-fA-F]{64}$/,
  rule: 'must be a SHA-256 hash of 64 hexadecimal digits: hash e-mails and phones before you send them',
};
/** Neither an e-mail nor an international phone number fits. Plain digits do: most customer ids look like that. */
const EXTERNAL_ID: IdentifierFormat = {
  pattern: /^[A-Za-z0-9_.:-]{1,128}$/,
  rule: 'must be 1 to 128 letters, digits, "_", ".", ":" or "-"',
};
/** Tokens of all types, including base64 and ID5's `*`. Neither an e-mail nor a phone number fits. */
const UID_VALUE: IdentifierFormat = {
  pattern: /^(?!(?:[^A-Za-z0-9]*[0-9]){7,15}[^A-Za-z0-9]*$)[A-Za-z0-9._~:*+/=-]{1,512}$/,
  rule: 'must be an opaque id of 1 to 512 letters, digits or "._~:*+/=-", not a phone number',
};

/** AdCP 3.0, enum uid-type. */
const UID_TYPES: ReadonlySet<unknown> = new Set([
  'rampid',
  'rampid_derived',
  'id5',
  'uid2',
  'euid',
  'pairid',
  'maid',
  'hashed_email',
  'publisher_first_party',
  'other',
]);
const UIDS_MAX = 10;

const MEMBERS_PER_TURN = 1_000;

/** Each member occurs once; a removed member is not added. */
export interface MemberChanges {
  readonly add: readonly AudienceMember[];
  readonly remove: readonly string[];
}

export interface ReadMembers extends MemberChanges {
  readonly failed: readonly Omit<FailedMember, 'audienceId'>[];
}

/** An invalid member fails with a reason that never repeats its data. */
export const readMembers = async (
  add: readonly unknown[],
  remove: readonly unknown[],
): Promise<ReadMembers> => {
  const failed: Omit<FailedMember, 'audienceId'>[] = [];
  const read = async (list: 'add' | 'remove', inputs: readonly unknown[]): Promise<AudienceMember[]> => {
    const members: AudienceMember[] = [];
    for (const [index, input] of inputs.entries()) {
      const reason = memberProblem(input, list);
      if (reason === undefined) members.push(memberOf(input as SentMember));
      else failed.push({ list, index, reason });
      if (index % MEMBERS_PER_TURN === MEMBERS_PER_TURN - 1) await nextTurn();
    }
    return members;
  };
  const added = new Map((await read('add', add)).map((member) => [member[0], member]));
  const removed = new Set((await read('remove', remove)).map(([id]) => id));
  for (const id of removed) added.delete(id);
  return { add: [...added.values()], remove: [...removed], failed };
};

interface SentMember {
  readonly externalId?: string | null;
  readonly hashedEmail?: string | null;
  readonly hashedPhone?: string | null;
  readonly uids?: readonly { readonly type: string; readonly value: string }[] | null;
}

const memberProblem = (input: unknown, list: 'add' | 'remove'): string | undefined => {
  if (!isObject(input)) return 'the member must be an object';
  const { externalId, hashedEmail, hashedPhone, uids } = input;
  const problem =
    formProblem('externalId', externalId, EXTERNAL_ID) ??
    formProblem('hashedEmail', hashedEmail, HASH) ??
    formProblem('hashedPhone', hashedPhone, HASH) ??
    uidsProblem(uids);
  if (problem !== undefined) return problem;
  const isMatchable = !isAbsent(hashedEmail) || !isAbsent(hashedPhone) || !isEmpty(uids);
  if (isMatchable) return undefined;
  if (list === 'add') return 'the member must have hashedEmail, hashedPhone or uids';
  return isAbsent(externalId)
    ? 'the member must have externalId, hashedEmail, hashedPhone or uids'
    : undefined;
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
const isAbsent = (value: unknown): boolean => value === undefined || value === null;
const isEmpty = (uids: unknown): boolean => isAbsent(uids) || (Array.isArray(uids) && uids.length === 0);

const formProblem = (
  name: string,
  value: unknown,
  { pattern, rule }: IdentifierFormat,
): string | undefined =>
  isAbsent(value) || (typeof value === 'string' && pattern.test(value)) ? undefined : `${name} ${rule}`;

const uidsProblem = (uids: unknown): string | undefined => {
  if (isAbsent(uids)) return undefined;
  if (!Array.isArray(uids) || uids.length > UIDS_MAX) return `uids must be a list of at most ${UIDS_MAX} ids`;
  for (const [n, uid] of (uids as readonly unknown[]).entries()) {
    const { type, value } = isObject(uid) ? uid : {};
    if (!UID_TYPES.has(type)) return `uids.${n}.type must be one of ${[...UID_TYPES].join(', ')}`;
    if (isAbsent(value)) return `uids.${n}.value is required`;
    const problem = formProblem(`uids.${n}.value`, value, type === 'hashed_email' ? HASH : UID_VALUE);
    if (problem !== undefined) return problem;
  }
  return undefined;
};

const memberOf = ({ externalId, hashedEmail, hashedPhone, uids }: SentMember): AudienceMember => {
  const email = hashedEmail?.toLowerCase() ?? null;
  const phone = hashedPhone?.toLowerCase() ?? null;
  const known = uidsOf(uids ?? []);
  // `memberProblem` has checked that one of them exists.
  const id = externalId ?? email ?? phone ?? idOfUid(known[0] ?? ['', '']);
  return [id, email, phone, known.length === 0 ? null : known];
};

/** Sorted without duplicates, so that the order in a request does not matter. */
const uidsOf = (uids: NonNullable<SentMember['uids']>): MemberUid[] => {
  const read = uids.map(({ type, value }): [string, MemberUid] => {
    const uid: MemberUid = [type, type === 'hashed_email' ? value.toLowerCase() : value];
    return [uid.join(':'), uid];
  });
  return [...new Map(read.sort(([one], [other]) => (one < other ? -1 : 1))).values()];
};

const idOfUid = (uid: MemberUid): string => createHash('sha256').update(uid.join(':')).digest('hex');

/** Per event, in each list. */
const MEMBERS_IN_EVENT = 1_500;
/** JSON characters. With the ids to remove, an encrypted event has at most 850 kB, which every event store accepts. */
const ADDED_CHARS_IN_EVENT = 420_000;

/** Stores members before another event refers to them. A repeat skips the stored parts. */
export const storeMembers = async (
  store: EventStore,
  batchId: string,
  { add, remove }: MemberChanges,
  { now, ...context }: Omit<CommandContext, 'commandId'> & { readonly now: string },
): Promise<AudienceBatch> => {
  const stream = audienceBatchStream(context.customerId, batchId);
  const additions = pieces(add, (member) => JSON.stringify(member).length);
  const removals = pieces(remove, () => 0);
  const parts = Math.max(additions.length, removals.length);
  const events = Array.from({ length: parts }, (_, part) => ({
    type: 'AudienceMembersStored',
    data: { part, add: additions[part] ?? [], remove: removals[part] ?? [] },
    occurredAt: now,
  }));
  const stored = await countStored(store, stream);
  const recorded = toNewEvents(events, { ...context, commandId: batchId }, audienceBatchEvents);
  const missing = recorded.slice(stored);
  if (missing.length > 0) {
    await appendInChunks(store, stream, missing, stored === 0 ? 'no-stream' : stored - 1);
  }
  return { batchId, parts, added: add.length, removed: remove.length };
};

const pieces = <Item>(items: readonly Item[], charsOf: (item: Item) => number): readonly Item[][] => {
  const all: Item[][] = [];
  let chars = 0;
  for (const item of items) {
    chars += charsOf(item) + 1;
    let piece = all.at(-1);
    if (piece === undefined || piece.length === MEMBERS_IN_EVENT || chars > ADDED_CHARS_IN_EVENT) {
      all.push((piece = []));
      chars = charsOf(item) + 1;
    }
    piece.push(item);
  }
  return all;
};

const countStored = async (store: EventStore, stream: string): Promise<number> => {
  for await (const { revision } of store.readStream(stream, { direction: 'backward', limit: 1 })) {
    return revision + 1;
  }
  return 0;
};
