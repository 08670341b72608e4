import type { ClientBase } from 'pg';
import {
  audienceBatchEvents,
  audienceEvents,
  type AudienceEvent,
  type AudienceMembersStored,
} from '../domain/audiences/audience-events.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { UnprojectableEventError } from './engine/projection.ts';

/**
 * A batch that nothing has referred to for this long belongs to a request that was given up: the key of one that never
 * had an answer is forgotten two days after its last try.
 */
const ABANDONED_DAYS = 5;

/** How long it is known who was removed. An agent that hears of it later is given the whole audience anew. */
const REMOVALS_DAYS = 7;

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const idOfStream = (event: RecordedEvent): string => {
  const [id] = UUID.exec(event.stream) ?? [];
  if (id === undefined) throw new UnprojectableEventError(event, 'the stream is named after no UUID');
  return id;
};

/** Keeps a part of a batch until the event that refers to it. */
export const storePart = async (client: ClientBase, event: RecordedEvent): Promise<void> => {
  const { data } = decodeEvent(event, audienceBatchEvents);
  await client.query({
    name: 'audience-batches-store',
    text: `insert into audience_batches (customer_id, batch_id, part, stored_at, body) values ($1, $2, $3, $4, $5)
           on conflict do nothing`,
    values: [
      event.metadata.customerId,
      idOfStream(event),
      (data as AudienceMembersStored).part,
      event.metadata.occurredAt,
      JSON.stringify(data),
    ],
  });
};

/** Adds and removes what an audience's event refers to. To be called once for each event, in their order. */
export const applyMembers = async (client: ClientBase, event: RecordedEvent): Promise<void> => {
  const { type, data } = decodeEvent(event, audienceEvents) as AudienceEvent;
  const audience = { customerId: event.metadata.customerId, audienceId: idOfStream(event) };
  if (type === 'AudienceArchived') return removeAll(client, audience);
  // Whoever forgot them has taken them out of the rows; made anew, there is nothing of them to read.
  if (type === 'AudienceMembersForgotten') return;
  if (data.batch === undefined) return;
  const { batchId } = data.batch;
  const { rows: parts } = await client.query<{ part: number }>({
    name: 'audience-batches-parts',
    text: 'select part from audience_batches where customer_id = $1 and batch_id = $2 order by part',
    values: [audience.customerId, batchId],
  });
  // Its parts are before it in the log. One that is parked must not be passed over in silence.
  if (parts.length !== data.batch.parts) {
    throw new UnprojectableEventError(event, `${parts.length} of the ${data.batch.parts} parts of its batch`);
  }
  let members = 0;
  // Part by part, so that no statement takes long.
  const change = { batchId, revision: event.revision, at: event.metadata.occurredAt };
  for (const { part } of parts) members += await applyPart(client, audience, change, part);
  await client.query({
    name: 'audiences-count',
    text: 'update audiences set members = members + $3 where customer_id = $1 and id = $2',
    values: [audience.customerId, audience.audienceId, members],
  });
  await client.query({
    name: 'audience-batches-done',
    text: `delete from audience_batches where customer_id = $1
           and (batch_id = $2 or stored_at < $3::timestamptz - make_interval(days => $4))`,
    values: [audience.customerId, batchId, event.metadata.occurredAt, ABANDONED_DAYS],
  });
  await client.query({
    name: 'audience-removals-purge',
    text: `delete from audience_removals
           where customer_id = $1 and removed_at < $2::timestamptz - make_interval(days => $3)`,
    values: [audience.customerId, event.metadata.occurredAt, REMOVALS_DAYS],
  });
};

/** Writes down how many members the audience has behind its event, which was applied just now: for lists of the past. */
export const keepSize = async (client: ClientBase, event: RecordedEvent): Promise<void> => {
  await client.query({
    name: 'audience-sizes-keep',
    text: `insert into audience_sizes (customer_id, audience_id, revision, members)
           select customer_id, id, $3, members from audiences where customer_id = $1 and id = $2
           on conflict do nothing`,
    values: [event.metadata.customerId, idOfStream(event), event.revision],
  });
};

interface AudienceKey {
  readonly customerId: number;
  readonly audienceId: string;
}

/** What an event of an audience does to its members. */
interface MemberChange {
  readonly batchId: string;
  /** Of the event. */
  readonly revision: number;
  readonly at: string;
}

/** @returns by how much the audience has grown */
const applyPart = async (
  client: ClientBase,
  { customerId, audienceId }: AudienceKey,
  { batchId, revision, at }: MemberChange,
  part: number,
): Promise<number> => {
  const { rows } = await client.query<{ change: number }>({
    name: 'audience-members-apply',
    text: `with stored as materialized (
             select body::jsonb as body from audience_batches
             where customer_id = $1 and batch_id = $3 and part = $4
           ), added as (
             insert into audience_members as m
               (customer_id, audience_id, external_id, hashed_email, hashed_phone, revision)
             select $1, $2, m ->> 0, decode(m ->> 1, 'hex'), decode(m ->> 2, 'hex'), $5
             from stored, jsonb_array_elements(stored.body -> 'add') m
             on conflict (customer_id, audience_id, external_id) do update
               set hashed_email = excluded.hashed_email, hashed_phone = excluded.hashed_phone,
                 revision = excluded.revision
               where (m.hashed_email, m.hashed_phone)
                 is distinct from (excluded.hashed_email, excluded.hashed_phone)
             returning (xmax = 0) as is_new
           ), back as (
             delete from audience_removals r using stored, jsonb_array_elements(stored.body -> 'add') m
             where r.customer_id = $1 and r.audience_id = $2 and r.external_id = m ->> 0
           ), removed as (
             delete from audience_members m using stored, jsonb_array_elements_text(stored.body -> 'remove') gone
             where m.customer_id = $1 and m.audience_id = $2 and m.external_id = gone
             returning m.external_id, m.hashed_email, m.hashed_phone
           ), told as (
             insert into audience_removals
               (customer_id, audience_id, external_id, hashed_email, hashed_phone, revision, removed_at)
             select $1, $2, external_id, hashed_email, hashed_phone, $5, $6::timestamptz from removed
             on conflict do nothing
           )
           select ((select count(*) from added where is_new) - (select count(*) from removed))::int as change`,
    values: [customerId, audienceId, batchId, part, revision, at],
  });
  return rows[0]?.change ?? 0;
};

/** Of one statement: a few hundredths of a second. An audience may have more members than one statement could. */
const REMOVED_AT_ONCE = 20_000;

/** In the order of their ids, each statement from where the last one ended. */
const removeAll = async (client: ClientBase, { customerId, audienceId }: AudienceKey): Promise<void> => {
  for (let after = '', last: string | undefined; ; after = last) {
    last = await idAfter(client, { customerId, audienceId }, after);
    await client.query({
      name: `audience-members-clear-${last === undefined ? 'rest' : 'some'}`,
      text: `delete from audience_members where customer_id = $1 and audience_id = $2 and external_id > $3
             ${last === undefined ? '' : 'and external_id <= $4'}`,
      values: [customerId, audienceId, after, ...(last === undefined ? [] : [last])],
    });
    if (last === undefined) break;
  }
  await client.query({
    name: 'audience-removals-clear',
    text: 'delete from audience_removals where customer_id = $1 and audience_id = $2',
    values: [customerId, audienceId],
  });
  await client.query({
    name: 'audiences-clear',
    text: 'update audiences set members = 0 where customer_id = $1 and id = $2',
    values: [customerId, audienceId],
  });
};

/** The last of the next `REMOVED_AT_ONCE` members; undefined when there are fewer. */
const idAfter = async (
  client: ClientBase,
  { customerId, audienceId }: AudienceKey,
  after: string,
): Promise<string | undefined> => {
  const { rows } = await client.query<{ external_id: string }>({
    name: 'audience-members-next',
    text: `select external_id from audience_members
           where customer_id = $1 and audience_id = $2 and external_id > $3
           order by external_id offset $4 limit 1`,
    values: [customerId, audienceId, after, REMOVED_AT_ONCE - 1],
  });
  return rows[0]?.external_id;
};
