import type { Knex } from 'knex';

/**
 * As in 0001, but whoever appends says whether the account's other reads wait for it: `append_apart` writes the mark
 * of its own (`conversion_positions`). The functions of 0001 stay for processes that were started before this.
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
    -- Where the append would start if it were a repeat. 1,000 is the reach that the port promises for "any".
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
  ), masses as (
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

/** The same for one event. */
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

export const marksApart = {
  name: '0021-marks-apart',
  up: async (knex: Knex): Promise<void> => {
    await knex.raw(appendFunction);
    await knex.raw(appendEventFunction);
  },
};
