import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  audienceBatchEvents,
  type AudienceBatch,
  type AudienceMember,
} from '../../domain/audiences/audience-events.ts';
import { audienceBatchStream } from '../../domain/audiences/audience.ts';
import type { CommandContext } from '../../shared/command/command-context.ts';
import { toNewEvents } from '../../shared/command/recorded-domain-event.ts';
import { appendInChunks } from '../../shared/event-store/append-in-chunks.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { ApiError } from '../../shared/http/errors.ts';

/** How an identifier must look, and what is said when it does not. By hand: 100,000 members in a fraction of a second. */
interface Form {
  readonly pattern: RegExp;
  readonly rule: string;
}
const HASH: Form = {
  pattern: /^[0-9a-fA-F]{64}$/,
  rule: 'must be a SHA-256 hash of 64 hexadecimal digits: hash e-mails and phones before you send them',
};
/**
 * No `@`, `+` or space: neither an e-mail nor a phone number as one is written internationally (E.164) fits. Digits alone
 * do: most ids of customers are such, and nobody can tell those that are a phone number.
 */
const EXTERNAL_ID: Form = {
  pattern: /^[A-Za-z0-9_.:-]{1,128}$/,
  rule: 'must be 1 to 128 letters, digits, "_", ".", ":" or "-"',
};

/** Members checked before other requests get their turn. */
const AT_ONCE = 1_000;

/** What one audience of a sync changes, each member once; who is removed is not added. */
export interface MemberChanges {
  readonly add: readonly AudienceMember[];
  readonly remove: readonly string[];
}

/**
 * Reads members as they were sent.
 * @param path of the audience in the body
 * @throws ApiError VALIDATION_ERROR that names the first member at fault, and never repeats what it holds
 */
export const readMembers = async (
  path: string,
  add: readonly unknown[],
  remove: readonly unknown[],
): Promise<MemberChanges> => {
  const added = new Map<string, AudienceMember>();
  for (const [n, input] of add.entries()) {
    const member = memberOf(input, () => `${path}.add.${n}`);
    if (member[1] === null && member[2] === null) {
      throw refused(`${path}.add.${n}`, 'must have hashedEmail or hashedPhone');
    }
    added.set(member[0], member);
    if (n % AT_ONCE === AT_ONCE - 1) await nextTurn();
  }
  const removed = new Set<string>();
  for (const [n, input] of remove.entries()) {
    const [id] = memberOf(input, () => `${path}.remove.${n}`);
    removed.add(id);
    added.delete(id);
    if (n % AT_ONCE === AT_ONCE - 1) await nextTurn();
  }
  return { add: [...added.values()], remove: [...removed] };
};

/** A member by its own id, or else by its first hash. */
const memberOf = (input: unknown, path: () => string): AudienceMember => {
  if (typeof input !== 'object' || input === null) throw refused(path(), 'must be an object');
  const members: {
    readonly externalId?: unknown;
    readonly hashedEmail?: unknown;
    readonly hashedPhone?: unknown;
  } = input;
  const externalId = formed(members.externalId, EXTERNAL_ID, path, 'externalId');
  const email = formed(members.hashedEmail, HASH, path, 'hashedEmail')?.toLowerCase() ?? null;
  const phone = formed(members.hashedPhone, HASH, path, 'hashedPhone')?.toLowerCase() ?? null;
  const id = externalId ?? email ?? phone;
  if (id === null) throw refused(path(), 'must have externalId, hashedEmail or hashedPhone');
  return [id, email, phone];
};

const formed = (
  value: unknown,
  { pattern, rule }: Form,
  path: () => string,
  member: string,
): string | null => {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && pattern.test(value)) return value;
  throw refused(`${path()}.${member}`, rule);
};

const refused = (field: string, rule: string): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message: `${field}: ${rule}. Correct it and send the request again.`,
    field,
  });

/** Of one event: about 600 kB at most when they are sealed, well below what every event store takes. */
const MEMBERS_IN_EVENT = 1_500;

/**
 * Stores the members of a change before anything refers to them. To be repeated with the same batch id and members:
 * what is there already is passed over.
 */
export const storeMembers = async (
  store: EventStore,
  batchId: string,
  { add, remove }: MemberChanges,
  { now, ...context }: Omit<CommandContext, 'commandId'> & { readonly now: string },
): Promise<AudienceBatch> => {
  const stream = audienceBatchStream(context.customerId, batchId);
  const parts = Math.ceil(Math.max(add.length, remove.length) / MEMBERS_IN_EVENT);
  const events = Array.from({ length: parts }, (_, part) => {
    const [from, to] = [part * MEMBERS_IN_EVENT, (part + 1) * MEMBERS_IN_EVENT];
    return {
      type: 'AudienceMembersStored',
      data: { part, add: add.slice(from, to), remove: remove.slice(from, to) },
      occurredAt: now,
    };
  });
  const stored = await countStored(store, stream);
  const recorded = toNewEvents(events, { ...context, commandId: batchId }, audienceBatchEvents);
  const missing = recorded.slice(stored);
  if (missing.length > 0) {
    await appendInChunks(store, stream, missing, stored === 0 ? 'no-stream' : stored - 1);
  }
  return { batchId, parts, added: add.length, removed: remove.length };
};

const countStored = async (store: EventStore, stream: string): Promise<number> => {
  for await (const { revision } of store.readStream(stream, { direction: 'backward', limit: 1 })) {
    return revision + 1;
  }
  return 0;
};
