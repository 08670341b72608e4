import type { ClientBase } from 'pg';
import { auditedCategories, auditedEvent, type AuditedEvent } from '../domain/history/audited-event.ts';
import { categoryOf, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { UnprojectableEventError, type Projection } from './engine/projection.ts';

/** The read model behind the audit log: table `audit_entries`, one row for each event. */
export const auditProjection: Projection = {
  name: 'audit',
  categories: auditedCategories,
  tables: ['audit_entries'],
  apply: async (client, events) => {
    const said = events.map(entryOf);
    await insert(client, complete(said, await knownOf(client, said)));
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
  // A row goes where its stream's name says: no event may reach another account's rows.
  if (stream !== start && !stream.startsWith(`${start}-`)) {
    throw new UnprojectableEventError(event, `the stream is not one of account ${customerId}`);
  }
  const said = auditedEvent({ category, customerId, id: stream.slice(start.length + 1), type, data });
  if (said === undefined) throw new UnprojectableEventError(event, 'the audit log has no such category');
  return { ...said, event };
};

/** What the last entry of a stream says of its thing. */
type Known = Pick<AuditedEvent, 'advertiserId' | 'campaignId' | 'part'>;

/** Whether something is left to be said by the events before it. */
const looksBack = (entry: Entry): boolean => entry.carries.some((member) => entry[member] === undefined);

const knownOf = async (client: ClientBase, entries: readonly Entry[]): Promise<Map<string, Known>> => {
  const first = new Map<string, Entry>();
  for (const entry of entries) if (!first.has(entry.event.stream)) first.set(entry.event.stream, entry);
  // Whatever begins in this batch has nothing before it.
  const streams = new Set(
    [...first.values()].flatMap((entry) => [
      ...(entry.event.revision > 0 && looksBack(entry) ? [entry.event.stream] : []),
      ...(entry.event.revision === 0 && entry.below !== undefined ? [entry.below] : []),
    ]),
  );
  if (streams.size === 0) return new Map();
  const { rows } = await client.query<{
    stream: string;
    advertiser_id: number | null;
    campaign_id: string | null;
    part: string | null;
  }>({
    name: 'audit-entries-known',
    text: `select asked.stream, e.advertiser_id, e.campaign_id, e.part
           from unnest($1::text[]) as asked(stream), lateral (
             select advertiser_id, campaign_id, part from audit_entries k where k.stream = asked.stream
             order by k.occurred_at desc, k.position desc limit 1) e`,
    values: [textArray([...streams])],
  });
  return new Map(
    rows.map((row) => [
      row.stream,
      {
        advertiserId: row.advertiser_id ?? undefined,
        campaignId: row.campaign_id ?? undefined,
        part: row.part ?? undefined,
      },
    ]),
  );
};

/** Entries with what those before them say. */
const complete = (entries: readonly Entry[], known: Map<string, Known>): readonly Entry[] =>
  entries.map((entry) => {
    const { event, carries, below } = entry;
    const before = known.get(event.stream) ?? (below === undefined ? undefined : known.get(below));
    const completed = { ...entry };
    for (const member of carries) Object.assign(completed, { [member]: entry[member] ?? before?.[member] });
    known.set(event.stream, completed);
    return completed;
  });

const insert = async (client: ClientBase, entries: readonly Entry[]): Promise<void> => {
  const events = entries.map(({ event }) => event);
  const texts = (of: (event: RecordedEvent) => string): Buffer => textArray(events.map(of));
  await client.query({
    name: 'audit-entries-insert',
    text: `insert into audit_entries (customer_id, occurred_at, position, stream, revision, event_id, type,
             resource_type, part, advertiser_id, campaign_id, actor, request_id, correlation_id, causation_id)
           select customer_id, occurred_at::timestamptz, position, stream, revision, event_id, type, resource_type,
             nullif(part, ''), nullif(advertiser_id, 0), nullif(campaign_id, ''), actor, request_id, correlation_id,
             causation_id
           from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::uuid[], $7::text[],
             $8::text[], $9::text[], $10::int[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[])
             as n(customer_id, occurred_at, position, stream, revision, event_id, type, resource_type, part,
               advertiser_id, campaign_id, actor, request_id, correlation_id, causation_id)
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
      textArray(entries.map(({ campaignId = '' }) => campaignId)),
      texts(({ metadata }) => metadata.actor),
      texts(({ metadata }) => metadata.requestId),
      texts(({ metadata }) => metadata.correlationId),
      texts(({ metadata }) => metadata.causationId),
    ],
  });
};
