import { createAdvertiser } from '../../command/advertisers/commands.ts';
import { advertiserEvents } from '../../domain/advertisers/events.ts';
import { advertiserAggregate } from '../../domain/advertisers/advertiser.ts';
import { toNewEvents } from '../../shared/aggregate/recorded-domain-event.ts';
import { runSql } from './bench-database.ts';

const STEP = 100_000;
const TEMPLATE_ID = 987_654_321;

/** The event of creating this advertiser, as the service would record it. */
const templateEvent = (customerId: number): { data: string; metadata: string; type: string } => {
  const commandId = '00000000-0000-4000-8000-000000000000';
  const now = '2026-01-01T00:00:00.000Z';
  const body = { name: 'Advertiser #', description: 'Sports shoes', brandCountries: ['US', 'DE'] };
  const command = createAdvertiser(body, { advertiserId: TEMPLATE_ID, customerId }, { commandId, now });
  const decision = advertiserAggregate.decide(command, advertiserAggregate.initialState);
  if (!('events' in decision)) throw new Error('the template was rejected');
  const context = { commandId, customerId, actor: 'bench', requestId: commandId };
  const [event] = toNewEvents(decision.events, context, advertiserEvents);
  if (event === undefined) throw new Error('the template produced no event');
  return { type: event.type, data: JSON.stringify(event.data), metadata: JSON.stringify(event.metadata) };
};

/**
 * Writes the events of `count` new advertisers of one account directly into the log, 37 ms apart, as the port would
 * write them. A million takes seconds. No other process may write at the same time.
 */
export const fillLog = async (url: string, customerId: number, count: number): Promise<void> => {
  const { type, data, metadata } = templateEvent(customerId);
  const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  const numbered = (text: string): string =>
    `replace(replace(replace(${quoted(text)}, '${TEMPLATE_ID}', id::text), '#', id::text),
       '2026-01-01T00:00:00.000Z',
       to_char(timestamp '2025-01-01' + id * interval '37 milliseconds', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;
  for (let done = 0; done < count; done += STEP) {
    const step = Math.min(STEP, count - done);
    await runSql(
      url,
      `insert into events (position, stream, revision, id, type, data, metadata)
       select head + n, 'advertiser-${customerId}-' || id, 0, gen_random_uuid(), '${type}', ${numbered(data)},
         ${numbered(metadata)}
       from (select n, head, nextval('advertiser_ids') as id
             from generate_series(1, ${step}) n, (select coalesce(max(position), 0) as head from events) h) new`,
      `insert into account_positions (customer_id, position)
       select ${customerId}, lpad(max(position)::text, 16, '0') from events
       on conflict (customer_id) do update set position = excluded.position`,
    );
  }
};

/**
 * Writes `count` mixed events of one account directly into an empty log. Two of five events create an advertiser. The
 * others rename, archive or restore one of the earlier advertisers.
 */
export const fillLogMixed = async (url: string, customerId: number, count: number): Promise<void> => {
  const { type, data, metadata } = templateEvent(customerId);
  const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  const numbered = (text: string): string =>
    `replace(replace(${quoted(text)}, '${TEMPLATE_ID}', id::text), '#', id::text)`;
  await runSql(
    url,
    // The first two of every five events create an advertiser. A hash of the number chooses the advertiser of the
    // others.
    `create table mixed as
       select n, case when n % 5 in (1, 2) then n
         else (hashint8(n)::bigint & 2147483647) % ((n - 1) / 5 + 1) * 5 + 1 + (hashint8(n + 7)::bigint & 1) end as id
       from generate_series(1, ${count}::bigint) n`,
    `insert into events (position, stream, revision, id, type, data, metadata)
     select n, 'advertiser-${customerId}-' || id, revision, gen_random_uuid(),
       case when revision = 0 then '${type}' when revision % 4 = 2 then 'AdvertiserArchived'
         when revision % 4 = 3 then 'AdvertiserRestored' else 'AdvertiserUpdated' end,
       case when revision = 0 then ${numbered(data)} when revision % 4 in (2, 3) then '{}'
         else '{"changes":{"name":"Name ' || n || '"}}' end,
       ${numbered(metadata)}
     from (select n, id, row_number() over (partition by id order by n) - 1 as revision from mixed) m order by n`,
    'drop table mixed',
    `insert into account_positions (customer_id, position)
     select ${customerId}, lpad(max(position)::text, 16, '0') from events`,
  );
};
