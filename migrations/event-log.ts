import type { Knex } from 'knex';
import { code } from './schema.ts';

/**
 * Appends a batch, with at most one append for each stream (`append-pump.ts`). Answers each append, in the
 * order of the arguments: 'a' accepted or 'r' repeated, with the last event's revision and position; 'c'
 * conflict, with the stream's revision (-1 if empty). `append_*` has one element an append; `append_first`
 * and `event_append` are indexes into the other arrays. `append_apart` moves `conversion_positions`, because
 * only reads of conversions wait for these events. `append_expected`: -1 is "no stream", -2 is "any".
 * The lock is a separate statement, because each statement of a VOLATILE function takes a new snapshot under
 * READ COMMITTED: the next ones see every batch that committed before. In one statement: A and B start with
 * the head at 7. A gets the lock, writes 8, commits. B gets the lock and computes 8 from its old snapshot: at
 * best the insert fails. With a sequence, a reader that saw 9 before 8 became visible never sees 8. The
 * commit releases the lock after the batch is visible: positions are in the order of commits. One autocommit
 * statement, so a client that stops in the middle never holds the lock.
 */
const appendFunction = `
create function append_to_log(
  append_stream text[], append_expected bigint[], append_customer bigint[], append_first int[], append_size int[],
  event_append int[], event_id uuid[], event_type text[], event_data text[], event_metadata text[],
  append_apart boolean[]
) returns table (outcome "char", revision bigint, "position" bigint)
language plpgsql volatile as $body$
#variable_conflict use_column
declare
  now_recorded timestamptz;
begin
  perform pg_advisory_xact_lock(7216002);
  now_recorded := clock_timestamp();

  return query
  with found as materialized (
    select a.*, coalesce(
      (select e.revision from events e where e.stream = a.stream order by e.revision desc limit 1), -1) as current
    from unnest(append_stream, append_expected, append_customer, append_first, append_size, append_apart)
      with ordinality as a (stream, expected, customer, first, size, apart, n)
  ), suspected as materialized (
    -- The first revision of the append if it is a repeat. The port promises to look back 1,000 events for "any".
    select f.*, case
      when f.expected between -1 and f.current - 1 then f.expected + 1
      when f.expected = -2 and f.current >= 0 then (
        select e.revision from events e
        where e.stream = f.stream and e.revision > f.current - 1000 and e.id = event_id[f.first]
        order by e.revision desc limit 1)
      end as start
    from found f
  ), judged as materialized (
    select s.*,
      s.expected = s.current or (s.expected = -2 and s.start is null) as accepted,
      case when s.start is not null and (
        select array_agg(e.id order by e.revision) from events e
        where e.stream = s.stream and e.revision between s.start and s.start + s.size - 1
      ) = event_id[s.first : s.first + s.size - 1] then s.start + s.size - 1 end as repeated
    from suspected s
  ), placed as materialized (
    select j.*, ((select coalesce(max(e.position), 0) from events e)
      + sum(case when j.accepted then j.size else 0 end) over (order by j.n))::bigint as last
    from judged j
  ), written as (
    insert into events (position, stream, revision, id, type, data, metadata, recorded_at)
    select p.last - p.size + e.n - p.first + 1, p.stream, p.current + e.n - p.first + 1,
      e.id, e.type, e.data, e.metadata, now_recorded
    from unnest(event_append, event_id, event_type, event_data, event_metadata)
      with ordinality as e (append, id, type, data, metadata, n)
    join placed p on p.n = e.append
    where p.accepted
  ), accounts as (
    insert into account_positions as known (customer_id, position)
    select p.customer, lpad(max(p.last)::text, 16, '0') from placed p
    where p.accepted and not p.apart group by p.customer
    on conflict (customer_id) do update set position = excluded.position
    where known.position < excluded.position
  ), conversions as (
    insert into conversion_positions as known (customer_id, position)
    select p.customer, lpad(max(p.last)::text, 16, '0') from placed p
    where p.accepted and p.apart group by p.customer
    on conflict (customer_id) do update set position = excluded.position
    where known.position < excluded.position
  )
  select
    (case when p.accepted then 'a' when p.repeated is not null then 'r' else 'c' end)::"char",
    case when p.accepted then p.current + p.size else coalesce(p.repeated, p.current) end,
    case when p.accepted then p.last when p.repeated is not null then
      (select e.position from events e where e.stream = p.stream and e.revision = p.repeated) end
  from placed p
  order by p.n;
end
$body$;
`;

/**
 * One event with an expected revision, in two thirds of the time (no arrays, a small plan). Returns null and
 * writes nothing in any other case: then `append_to_log` decides.
 */
const appendEventFunction = `
create function append_event_to_log(
  append_stream text, append_expected bigint, append_customer bigint,
  event_id uuid, event_type text, event_data text, event_metadata text,
  append_apart boolean
) returns bigint
language plpgsql volatile as $body$
declare
  next_position bigint;
begin
  perform pg_advisory_xact_lock(7216002);
  if append_expected is distinct from coalesce(
    (select e.revision from events e where e.stream = append_stream order by e.revision desc limit 1), -1)
  then
    return null;
  end if;
  next_position := coalesce((select e.position from events e order by e.position desc limit 1), 0) + 1;
  insert into events (position, stream, revision, id, type, data, metadata, recorded_at)
  values (next_position, append_stream, append_expected + 1,
    event_id, event_type, event_data, event_metadata, clock_timestamp());
  if append_apart then
    insert into conversion_positions as known (customer_id, position)
    values (append_customer, lpad(next_position::text, 16, '0'))
    on conflict (customer_id) do update set position = excluded.position
    where known.position < excluded.position;
  else
    insert into account_positions as known (customer_id, position)
    values (append_customer, lpad(next_position::text, 16, '0'))
    on conflict (customer_id) do update set position = excluded.position
    where known.position < excluded.position;
  end if;
  return next_position;
end
$body$;
`;

/**
 * Functions, because their plans use the settings that they name. A prepared statement planned while the log
 * fitted into one page keeps its sequential scan until the next ANALYZE, a million events later. (Planning
 * each time costs 100 us a read, a call 20 us.)
 * Both return at least one existing event and stop when `bytes`, the running sum of payload, reaches
 * `bytes_max`: memory is bounded. `read_log` considers at most `count_max` positions and returns the wanted events, then
 * one row without a stream: the last considered position, the number of considered ones as `revision`, and `bytes`. A
 * loop, because events that are not wanted then cost a sixth.
 */
const readFunctions = `
create function read_log(after bigint, count_max int, bytes_max bigint, categories text[], types text[] default null)
returns table ("position" bigint, stream text, revision bigint, id uuid, type text, data text, metadata text,
  recorded_at timestamptz, bytes bigint)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $body$
#variable_conflict use_column
declare
  e events%rowtype;
  considered bigint := 0;
  total bigint := 0;
begin
  for e in select * from events e where e.position > after order by e.position limit count_max loop
    considered := considered + 1;
    position := e.position;
    if (categories is null or split_part(e.stream, '-', 1) = any (categories))
      and (types is null or e.type = any (types))
    then
      total := total + octet_length(e.data) + octet_length(e.metadata);
      stream := e.stream; revision := e.revision; id := e.id; type := e.type; data := e.data;
      metadata := e.metadata; recorded_at := e.recorded_at; bytes := total;
      return next;
      exit when total >= bytes_max;
    end if;
  end loop;
  stream := null; revision := considered; id := null; type := null; data := null;
  metadata := null; recorded_at := null; bytes := total;
  return next;
end
$body$;

create function read_stream(wanted text, start bigint, backward boolean, count_max int, bytes_max bigint)
returns table ("position" bigint, stream text, revision bigint, id uuid, type text, data text, metadata text,
  recorded_at timestamptz, bytes bigint)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $body$
#variable_conflict use_column
begin
  if backward then
    return query
    select s.* from (
      select e.*, sum(octet_length(e.data) + octet_length(e.metadata)) over (order by e.revision desc) as bytes
      from (select * from events e where e.stream = wanted and e.revision <= start
        order by e.revision desc limit count_max) e
    ) s where s.bytes - octet_length(s.data) - octet_length(s.metadata) < bytes_max;
  else
    return query
    select s.* from (
      select e.*, sum(octet_length(e.data) + octet_length(e.metadata)) over (order by e.revision) as bytes
      from (select * from events e where e.stream = wanted and e.revision >= start
        order by e.revision limit count_max) e
    ) s where s.bytes - octet_length(s.data) - octet_length(s.metadata) < bytes_max;
  end if;
end
$body$;
`;

/**
 * Only `event-store/postgres/` touches these tables.
 * - `events`: text, because `jsonb` costs six times as much to write, and rejects or changes values that JSON
 * allows. Compression costs more than it saves. The next position is `max(position) + 1`, read under the
 * lock: a head row would be a second source of truth, and one dead row a batch.
 * - `account_positions`: half-empty pages keep its frequent updates out of the index.
 * - `conversion_positions`: separate, so that only reads of conversions wait for these events.
 */
export const eventLog = {
  name: '0.2-event-log',
  up: async (knex: Knex): Promise<void> => {
    await knex.schema.createTable('events', (table) => {
      table.bigInteger('position').primary();
      code(table, 'stream').notNullable();
      table.bigInteger('revision').notNullable();
      table.uuid('id').notNullable();
      table.text('type').notNullable();
      table.text('data').notNullable();
      table.text('metadata').notNullable();
      table.timestamp('recorded_at').notNullable().defaultTo(knex.raw('clock_timestamp()'));
      table.unique(['stream', 'revision'], { indexName: 'events_stream_revision' });
    });
    await knex.raw(
      'alter table events alter column data set storage external, alter column metadata set storage external',
    );
    for (const name of ['account_positions', 'conversion_positions']) {
      await knex.schema.createTable(name, (table) => {
        table.bigInteger('customer_id').primary();
        code(table, 'position').notNullable();
      });
      await knex.raw(`
        alter table ${name} set
          (fillfactor = 50, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.05)
      `);
    }
    await knex.raw(appendFunction);
    await knex.raw(appendEventFunction);
    await knex.raw(readFunctions);
  },
};
