import type { ClientBase, QueryConfig } from 'pg';
import {
  audienceBatchEvents,
  audienceEvents,
  type AudienceBatch,
  type AudienceEvent,
  type AudienceMembersStored,
} from '../domain/audiences/events.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { int4Array, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { decodeEvent } from './engine/decode-event.ts';
import { byStream } from './engine/fold-streams.ts';
import { UnprojectableEventError } from './engine/projection.ts';
import { inPieces, sendInOrder } from './engine/send-in-order.ts';

/** A request without an audience event for these days is abandoned: retries end after two days. */
const ABANDONED_DAYS = 5;

/** An agent that syncs later receives the whole audience again. */
const REMOVALS_DAYS = 7;

/** Per statement, so that each takes a few hundredths of a second. */
const STORED_BYTES_AT_ONCE = 2 ** 20;
const REMOVED_AT_ONCE = 20_000;

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const idOfStream = (event: RecordedEvent): string => {
  const [id] = UUID.exec(event.stream) ?? [];
  if (id === undefined) throw new UnprojectableEventError(event, 'the stream name contains no UUID');
  return id;
};

const customersOf = (rows: readonly { readonly customerId: number }[]): Buffer =>
  int8Array(rows.map(({ customerId }) => customerId));

function* inSteps<Item>(
  items: readonly Item[],
  sizeOf: (item: Item) => number,
  max: number,
): Generator<readonly Item[]> {
  let step: Item[] = [];
  let size = 0;
  for (const item of items) {
    if (step.length > 0 && size + sizeOf(item) > max) {
      yield step;
      step = [];
      size = 0;
    }
    step.push(item);
    size += sizeOf(item);
  }
  if (step.length > 0) yield step;
}

export const storeParts = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  await sendInOrder(client, partInserts(events));
};

function* partInserts(events: readonly RecordedEvent[]): Generator<QueryConfig> {
  for (const piece of inPieces(events)) {
    const parts = piece.map((event) => {
      const data = decodeEvent(event, audienceBatchEvents).data as AudienceMembersStored;
      const { customerId, occurredAt } = event.metadata;
      const [batchId, { part }] = [idOfStream(event), data];
      return { customerId, occurredAt, batchId, part, body: JSON.stringify(data) };
    });
    yield {
      name: 'audience-batches-store',
      text: `insert into audience_batches (customer_id, batch_id, part, stored_at, body)
             select customer_id, batch_id, part, stored_at::timestamptz, body
             from unnest($1::bigint[], $2::uuid[], $3::int[], $4::text[], $5::text[])
               as n(customer_id, batch_id, part, stored_at, body)
             on conflict do nothing`,
      values: [
        customersOf(parts),
        uuidArray(parts.map(({ batchId }) => batchId)),
        int4Array(parts.map(({ part }) => part)),
        textArray(parts.map(({ occurredAt }) => occurredAt)),
        textArray(parts.map(({ body }) => body)),
      ],
    };
  }
}

interface AudienceChange {
  readonly event: RecordedEvent;
  readonly customerId: number;
  readonly audienceId: string;
  readonly isArchived: boolean;
  readonly batch: AudienceBatch | undefined;
}

/** The events are decoded before, for the row. `AudienceMembersForgotten` changes nothing here: the erasure did. */
const changeOf = (event: RecordedEvent): AudienceChange => ({
  event,
  customerId: event.metadata.customerId,
  audienceId: idOfStream(event),
  isArchived: event.type === 'AudienceArchived',
  batch: event.type === 'AudienceSynced' ? batchOf(event) : undefined,
});

const batchOf = (event: RecordedEvent): AudienceBatch | undefined =>
  (decodeEvent(event, audienceEvents) as Extract<AudienceEvent, { type: 'AudienceSynced' }>).data.batch;

/** The n-th events of all streams are applied together: no statement changes an audience twice. */
export const applyMembers = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  const streams = [...byStream(events).values()];
  const rounds = Math.max(0, ...streams.map((stream) => stream.length));
  for (let round = 0; round < rounds; round += 1) {
    const changes = streams.flatMap((stream) => stream.slice(round, round + 1)).map(changeOf);
    await removeAll(
      client,
      changes.filter(({ isArchived }) => isArchived),
    );
    await applyBatches(client, changes);
    await keepSizes(client, changes);
  }
  await purgeOld(client, events);
};

interface StoredPart {
  readonly change: AudienceChange & { readonly batch: AudienceBatch };
  readonly part: number;
  readonly bytes: number;
}

/** @throws UnprojectableEventError when parts of a batch are missing */
const applyBatches = async (client: ClientBase, changes: readonly AudienceChange[]): Promise<void> => {
  const synced = changes.flatMap(({ batch, ...change }) =>
    batch === undefined ? [] : [{ ...change, batch }],
  );
  if (synced.length === 0) return;
  const batches = [customersOf(synced), uuidArray(synced.map(({ batch }) => batch.batchId))];
  const { rows } = await client.query<{ n: string; part: number; bytes: number }>({
    name: 'audience-batches-parts',
    text: `select w.n, b.part, octet_length(b.body) as bytes
           from unnest($1::bigint[], $2::uuid[]) with ordinality as w(customer_id, batch_id, n)
           join audience_batches b on b.customer_id = w.customer_id and b.batch_id = w.batch_id
           order by w.n, b.part`,
    values: batches,
  });
  const rounds: StoredPart[][] = [];
  const found = synced.map(() => 0);
  for (const { n, part, bytes } of rows) {
    const at = Number(n) - 1;
    const change = synced[at];
    const round = found[at] ?? 0;
    if (change === undefined) continue;
    (rounds[round] ??= []).push({ change, part, bytes });
    found[at] = round + 1;
  }
  for (const [at, { event, batch }] of synced.entries()) {
    // Parts precede the event, so a missing one is in a parked stream. Then this event must fail, too.
    if (found[at] === batch.parts) continue;
    throw new UnprojectableEventError(
      event,
      `only ${found[at]} of ${batch.parts} parts of its batch are stored`,
    );
  }
  for (const round of rounds) {
    for (const parts of inSteps(round, ({ bytes }) => bytes, STORED_BYTES_AT_ONCE)) {
      await applyParts(client, parts);
    }
  }
  await client.query({
    name: 'audience-batches-done',
    text: `delete from audience_batches b using unnest($1::bigint[], $2::uuid[]) as d(customer_id, batch_id)
           where b.customer_id = d.customer_id and b.batch_id = d.batch_id`,
    values: batches,
  });
};

const applyParts = async (client: ClientBase, parts: readonly StoredPart[]): Promise<void> => {
  const changes = parts.map(({ change }) => change);
  await client.query({
    name: 'audience-members-apply',
    text: `with stored as materialized (
             select p.customer_id, p.audience_id, p.revision, p.at::timestamptz as at, b.body::jsonb as body
             from unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::int[], $5::bigint[], $6::text[])
               as p(customer_id, audience_id, batch_id, part, revision, at)
             join audience_batches b on b.customer_id = p.customer_id and b.batch_id = p.batch_id and b.part = p.part
           ), added as (
             insert into audience_members as m
               (customer_id, audience_id, external_id, hashed_email, hashed_phone, uids, revision)
             select customer_id, audience_id, m ->> 0, decode(m ->> 1, 'hex'), decode(m ->> 2, 'hex'),
               (m ->> 3)::jsonb, revision
             from stored, jsonb_array_elements(stored.body -> 'add') m
             on conflict (customer_id, audience_id, external_id) do update
               set hashed_email = excluded.hashed_email, hashed_phone = excluded.hashed_phone,
                 uids = excluded.uids, revision = excluded.revision
               where (m.hashed_email, m.hashed_phone, m.uids)
                 is distinct from (excluded.hashed_email, excluded.hashed_phone, excluded.uids)
             returning customer_id, audience_id, (xmax = 0) as is_new
           ), restored as (
             delete from audience_removals r using stored s, jsonb_array_elements(s.body -> 'add') m
             where r.customer_id = s.customer_id and r.audience_id = s.audience_id and r.external_id = m ->> 0
           ), removed as (
             delete from audience_members m using stored s, jsonb_array_elements_text(s.body -> 'remove') gone
             where m.customer_id = s.customer_id and m.audience_id = s.audience_id and m.external_id = gone
             returning m.customer_id, m.audience_id, m.external_id, m.hashed_email, m.hashed_phone, m.uids,
               s.revision, s.at
           ), recorded as (
             insert into audience_removals
               (customer_id, audience_id, external_id, hashed_email, hashed_phone, uids, revision, removed_at)
             select * from removed
             on conflict do nothing
           )
           update audiences a set members = a.members + c.change
           from (
             select customer_id, audience_id, sum(change) as change from (
               select customer_id, audience_id, 1 as change from added where is_new
               union all select customer_id, audience_id, -1 from removed) each_one
             group by 1, 2) c
           where a.customer_id = c.customer_id and a.id = c.audience_id`,
    values: [
      customersOf(changes),
      uuidArray(changes.map(({ audienceId }) => audienceId)),
      uuidArray(changes.map(({ batch }) => batch.batchId)),
      int4Array(parts.map(({ part }) => part)),
      int8Array(changes.map(({ event }) => event.revision)),
      textArray(changes.map(({ event }) => event.metadata.occurredAt)),
    ],
  });
};

interface MembersPage {
  readonly customerId: number;
  readonly audienceId: string;
  readonly after: string;
  readonly last: string;
  readonly count: number;
}

const removeAll = async (client: ClientBase, archived: readonly AudienceChange[]): Promise<void> => {
  if (archived.length === 0) return;
  for (let left = archived.map((audience) => ({ ...audience, after: '' })); left.length > 0;) {
    const pages = await nextPages(client, left);
    for (const step of inSteps(pages, ({ count }) => count, REMOVED_AT_ONCE)) {
      await client.query({
        name: 'audience-members-clear',
        text: `delete from audience_members m
               using unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[]) as p(customer_id, audience_id, after, last)
               where m.customer_id = p.customer_id and m.audience_id = p.audience_id
                 and m.external_id > p.after and m.external_id <= p.last`,
        values: [
          customersOf(step),
          uuidArray(step.map(({ audienceId }) => audienceId)),
          textArray(step.map(({ after }) => after)),
          textArray(step.map(({ last }) => last)),
        ],
      });
    }
    const more = new Map(
      pages.flatMap(({ audienceId, count, last }) =>
        count < REMOVED_AT_ONCE ? [] : [[audienceId, last] as const],
      ),
    );
    left = left.flatMap((audience) => {
      const after = more.get(audience.audienceId);
      return after === undefined ? [] : [{ ...audience, after }];
    });
  }
  await client.query({
    name: 'audiences-clear',
    text: `with gone as (
             select * from unnest($1::bigint[], $2::uuid[]) as g(customer_id, audience_id)
           ), removals as (
             delete from audience_removals r using gone g
             where r.customer_id = g.customer_id and r.audience_id = g.audience_id
           )
           update audiences a set members = 0 from gone g
           where a.customer_id = g.customer_id and a.id = g.audience_id`,
    values: [customersOf(archived), uuidArray(archived.map(({ audienceId }) => audienceId))],
  });
};

/** @returns at most `REMOVED_AT_ONCE` members of each audience */
const nextPages = async (
  client: ClientBase,
  audiences: readonly Pick<MembersPage, 'customerId' | 'audienceId' | 'after'>[],
): Promise<readonly MembersPage[]> => {
  const { rows } = await client.query<{ n: string; count: number; last: string }>({
    name: 'audience-members-next',
    text: `select p.n, m.count, m.last
           from unnest($1::bigint[], $2::uuid[], $3::text[]) with ordinality as p(customer_id, audience_id, after, n),
             lateral (select count(*)::int as count, max(external_id) as last from (
               select external_id from audience_members k
               where k.customer_id = p.customer_id and k.audience_id = p.audience_id and k.external_id > p.after
               order by external_id limit $4) page) m
           where m.count > 0`,
    values: [
      customersOf(audiences),
      uuidArray(audiences.map(({ audienceId }) => audienceId)),
      textArray(audiences.map(({ after }) => after)),
      REMOVED_AT_ONCE,
    ],
  });
  return rows.flatMap(({ n, count, last }) => {
    const audience = audiences[Number(n) - 1];
    return audience === undefined ? [] : [{ ...audience, count, last }];
  });
};

const keepSizes = async (client: ClientBase, changes: readonly AudienceChange[]): Promise<void> => {
  await client.query({
    name: 'audience-sizes-keep',
    text: `with changed as materialized (
             select customer_id, audience_id, revision, at::timestamptz as at
             from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::text[])
               as c(customer_id, audience_id, revision, at)
           ), kept as (
             insert into audience_sizes (customer_id, audience_id, revision, members)
             select c.customer_id, c.audience_id, c.revision, a.members
             from changed c join audiences a on a.customer_id = c.customer_id and a.id = c.audience_id
             on conflict do nothing
           )
           update audience_sizes s set superseded_at = c.at from changed c
           where s.customer_id = c.customer_id and s.audience_id = c.audience_id and s.revision = c.revision - 1`,
    values: [
      customersOf(changes),
      uuidArray(changes.map(({ audienceId }) => audienceId)),
      int8Array(changes.map(({ event }) => event.revision)),
      textArray(changes.map(({ event }) => event.metadata.occurredAt)),
    ],
  });
};

/** Uses the time of the account's events, not the clock, so that a rebuild purges the same rows. */
const purgeOld = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  if (events.length === 0) return;
  const latest = latestByCustomer(events);
  await client.query({
    name: 'audiences-forget-old',
    text: `with latest as (
             select customer_id, at::timestamptz as at from unnest($1::bigint[], $2::text[]) as n(customer_id, at)
           ), batches as (
             delete from audience_batches b using latest n
             where b.customer_id = n.customer_id and b.stored_at < n.at - make_interval(days => $3)
           )
           delete from audience_removals r using latest n
           where r.customer_id = n.customer_id and r.removed_at < n.at - make_interval(days => $4)`,
    values: [int8Array([...latest.keys()]), textArray([...latest.values()]), ABANDONED_DAYS, REMOVALS_DAYS],
  });
};

/** The time of each account's last event. ISO 8601 in UTC with a fixed length, so texts compare as times. */
export const latestByCustomer = (events: readonly RecordedEvent[]): ReadonlyMap<number, string> => {
  const latest = new Map<number, string>();
  for (const { metadata } of events) {
    const { customerId, occurredAt } = metadata;
    if (occurredAt > (latest.get(customerId) ?? '')) latest.set(customerId, occurredAt);
  }
  return latest;
};
