import type { ClientBase, QueryConfig } from 'pg';
import {
  auditedCategories,
  auditedEvent,
  campaignsAfter,
  type AuditedEvent,
} from '../domain/history/audited-event.ts';
import { credentialOfActor, userOfActor } from '../domain/history/actor.ts';
import { categoryOf, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { UnprojectableEventError, type Projection } from './engine/projection.ts';
import { inPieces, sendInOrder } from './engine/send-in-order.ts';

export const auditProjection: Projection = {
  name: 'audit',
  categories: auditedCategories,
  tables: ['audit_entries', 'audit_campaigns', 'audit_causes'],
  apply: async (client, events) => {
    const entries = events.map(entryOf);
    const users = await usersOf(client, entries);
    const complete = withCarriedMembers(entries, await knownOf(client, entries), users);
    await sendInOrder(client, inserts(complete));
    await insertCauses(client, entries);
  },
};

interface Entry extends AuditedEvent {
  readonly event: RecordedEvent;
}

const entryOf = (event: RecordedEvent): Entry => {
  const { stream, type, data, metadata } = event;
  const category = categoryOf(stream);
  const { customerId } = metadata;
  const start = `${category}-${customerId}`;
  // The stream name decides the account: no event may write another account's rows.
  if (stream !== start && !stream.startsWith(`${start}-`)) {
    throw new UnprojectableEventError(event, `the stream does not belong to account ${customerId}`);
  }
  const audited = auditedEvent({ category, customerId, id: stream.slice(start.length + 1), type, data });
  if (audited === undefined)
    throw new UnprojectableEventError(event, 'the audit log does not support the category');
  return { ...audited, event };
};

type StreamMembers = Pick<AuditedEvent, 'advertiserId' | 'campaignIds' | 'part'>;

interface CompleteEntry extends Entry {
  readonly foundBy: readonly string[];
  readonly userId: string | undefined;
}

const looksBack = ({ carries, advertiserId, part }: Entry): boolean =>
  carries.includes('campaignIds') ||
  (carries.includes('advertiserId') && advertiserId === undefined) ||
  (carries.includes('part') && part === undefined);

interface EntryQuery {
  readonly customerId: number;
  readonly before: number;
}

const queriesOf = (entries: readonly Entry[]): ReadonlyMap<string, EntryQuery> => {
  const first = new Map<string, Entry>();
  for (const entry of entries) if (!first.has(entry.event.stream)) first.set(entry.event.stream, entry);
  const queries = new Map<string, EntryQuery>();
  for (const [stream, entry] of first) {
    const { customerId } = entry.event.metadata;
    // A stream that begins in this batch has no earlier entries.
    if (entry.event.revision === 0) {
      if (entry.below !== undefined)
        queries.set(entry.below, { customerId, before: Number.MAX_SAFE_INTEGER });
    } else if (looksBack(entry)) queries.set(stream, { customerId, before: entry.event.revision });
  }
  return queries;
};

/** Ordered by revision: the clocks of several nodes may disagree. */
const knownOf = async (
  client: ClientBase,
  entries: readonly Entry[],
): Promise<Map<string, StreamMembers>> => {
  const queries = queriesOf(entries);
  if (queries.size === 0) return new Map();
  const { rows } = await client.query<{
    stream: string;
    advertiser_id: number | null;
    campaign_ids: string[] | null;
    part: string | null;
  }>({
    name: 'audit-entries-known',
    text: `select q.stream, e.advertiser_id, e.campaign_ids, e.part
           from unnest($1::bigint[], $2::text[], $3::bigint[]) as q(customer_id, stream, before), lateral (
             select advertiser_id, campaign_ids, part from audit_entries k
             where k.customer_id = q.customer_id and k.stream = q.stream
               and k.revision >= 0 and k.revision < q.before
             order by k.revision desc limit 1) e`,
    values: [
      int8Array([...queries.values()].map(({ customerId }) => customerId)),
      textArray([...queries.keys()]),
      int8Array([...queries.values()].map(({ before }) => before)),
    ],
  });
  return new Map(
    rows.map((row) => [
      row.stream,
      {
        advertiserId: row.advertiser_id ?? undefined,
        campaignIds: row.campaign_ids ?? [],
        part: row.part ?? undefined,
      },
    ]),
  );
};

/** By account, too: a seller's key may act on other accounts, which must not see the user. */
const keyOf = (customerId: number, keyId: string): string => `${customerId}/${keyId}`;

/** The event that makes a key, a session or a consent precedes the events that its user causes with it. */
const usersOf = async (
  client: ClientBase,
  entries: readonly Entry[],
): Promise<ReadonlyMap<string, string>> => {
  const users = new Map<string, string>();
  for (const { event, part, keyUserId } of entries) {
    if (part !== undefined && keyUserId !== undefined) {
      users.set(keyOf(event.metadata.customerId, part), keyUserId);
    }
  }
  const queries = new Map<string, { readonly customerId: number; readonly keyId: string }>();
  for (const { event } of entries) {
    const { actor, customerId } = event.metadata;
    const keyId = credentialOfActor(actor);
    if (keyId === undefined) continue;
    const key = keyOf(customerId, keyId);
    if (!users.has(key)) queries.set(key, { customerId, keyId });
  }
  if (queries.size === 0) return users;
  const { rows } = await client.query<{ customer_id: string; key_id: string; user_id: string }>({
    name: 'audit-entries-users',
    text: `select q.customer_id, q.key_id, e.key_user_id as user_id
           from unnest($1::bigint[], $2::text[]) as q(customer_id, key_id), lateral (
             select k.key_user_id from audit_entries k
             where k.customer_id = q.customer_id and k.part = q.key_id and k.key_user_id is not null
             limit 1) e`,
    values: [
      int8Array([...queries.values()].map(({ customerId }) => customerId)),
      textArray([...queries.values()].map(({ keyId }) => keyId)),
    ],
  });
  for (const { customer_id, key_id, user_id } of rows) {
    users.set(keyOf(Number(customer_id), key_id), user_id);
  }
  return users;
};

const withCarriedMembers = (
  entries: readonly Entry[],
  known: Map<string, StreamMembers>,
  users: ReadonlyMap<string, string>,
): readonly CompleteEntry[] =>
  entries.map((entry) => {
    const { event, carries, below, advertiserId, part } = entry;
    const before = known.get(event.stream) ?? (below === undefined ? undefined : known.get(below));
    const { actor, customerId } = event.metadata;
    const completed: CompleteEntry = {
      ...entry,
      advertiserId: advertiserId ?? (carries.includes('advertiserId') ? before?.advertiserId : undefined),
      part: part ?? (carries.includes('part') ? before?.part : undefined),
      ...campaignsAfter(carries.includes('campaignIds') ? (before?.campaignIds ?? []) : [], entry),
      userId: userOfActor(actor) ?? users.get(keyOf(customerId, credentialOfActor(actor) ?? '')),
    };
    known.set(event.stream, completed);
    return completed;
  });

function* inserts(entries: readonly CompleteEntry[]): Generator<QueryConfig> {
  for (const piece of inPieces(entries)) yield insertStatement(piece);
}

const insertStatement = (entries: readonly CompleteEntry[]): QueryConfig => {
  const events = entries.map(({ event }) => event);
  const texts = (of: (event: RecordedEvent) => string): Buffer => textArray(events.map(of));
  return {
    name: 'audit-entries-insert',
    text: `with n as (
             select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::uuid[],
               $7::text[], $8::text[], $9::text[], $10::int[], $11::text[], $12::text[], $13::text[], $14::text[],
               $15::text[], $16::text[], $17::text[], $18::text[])
             as n(customer_id, occurred_at, position, stream, revision, event_id, type, resource_type, part,
               advertiser_id, campaign_ids, found_by, actor, user_id, key_user_id, request_id, correlation_id,
               causation_id)
           ), found as (
             insert into audit_campaigns (customer_id, campaign_id, occurred_at, position)
             select n.customer_id, campaign_id, n.occurred_at::timestamptz, n.position
             from n, unnest(string_to_array(n.found_by, ' ')) campaign_id
             on conflict do nothing
           )
           insert into audit_entries (customer_id, occurred_at, position, stream, revision, event_id, type,
             resource_type, part, advertiser_id, campaign_ids, actor, user_id, key_user_id, request_id,
             correlation_id, causation_id)
           select customer_id, occurred_at::timestamptz, position, stream, revision, event_id, type, resource_type,
             nullif(part, ''), nullif(advertiser_id, 0), string_to_array(nullif(campaign_ids, ''), ' '), actor,
             nullif(user_id, ''), nullif(key_user_id, ''), request_id, correlation_id, causation_id
           from n
           on conflict do nothing`,
    values: [
      int8Array(events.map(({ metadata }) => metadata.customerId)),
      texts(({ metadata }) => metadata.occurredAt),
      texts(({ position }) => position),
      texts(({ stream }) => stream),
      int8Array(events.map(({ revision }) => revision)),
      uuidArray(events.map(({ id }) => id)),
      texts(({ type }) => type),
      textArray(entries.map(({ resourceType }) => resourceType)),
      textArray(entries.map(({ part = '' }) => part)),
      int4Array(entries.map(({ advertiserId = 0 }) => advertiserId)),
      textArray(entries.map(({ campaignIds }) => campaignIds.join(' '))),
      textArray(entries.map(({ foundBy }) => foundBy.join(' '))),
      texts(({ metadata }) => metadata.actor),
      textArray(entries.map(({ userId = '' }) => userId)),
      textArray(entries.map(({ keyUserId = '' }) => keyUserId)),
      texts(({ metadata }) => metadata.requestId),
      texts(({ metadata }) => metadata.correlationId),
      texts(({ metadata }) => metadata.causationId),
    ],
  };
};

const insertCauses = async (client: ClientBase, entries: readonly Entry[]): Promise<void> => {
  const causes = entries.flatMap(({ event, alsoCausedBy }) =>
    alsoCausedBy.map((cause) => ({ event, ...cause })),
  );
  if (causes.length === 0) return;
  await client.query({
    name: 'audit-causes-insert',
    text: `insert into audit_causes (customer_id, correlation_id, position, occurred_at, causation_id)
           select customer_id, correlation_id, position, occurred_at::timestamptz, causation_id
           from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
             as n(customer_id, correlation_id, position, occurred_at, causation_id)
           on conflict do nothing`,
    values: [
      int8Array(causes.map(({ event }) => event.metadata.customerId)),
      textArray(causes.map(({ correlationId }) => correlationId)),
      textArray(causes.map(({ event }) => event.position)),
      textArray(causes.map(({ event }) => event.metadata.occurredAt)),
      textArray(causes.map(({ causationId }) => causationId)),
    ],
  });
};
