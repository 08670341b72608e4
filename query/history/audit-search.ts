import type { Knex } from 'knex';
import { actorOrigins, type ActorOrigin } from '../../domain/history/actor.ts';
import type { AuditedResource, AuditOutcome } from '../../domain/history/audit-log-resource.ts';
import { int4Array, textArray } from '../../shared/postgres/binary-array.ts';
import { sql } from '../../shared/postgres/build-statement.ts';
import { failedWork } from './failed-work.ts';

export interface AuditFilters {
  /** ISO 8601; inclusive. */
  readonly from: string;
  readonly before: string;
  readonly advertiserId?: number | undefined;
  readonly campaign?: { readonly id: string; readonly shown: string } | undefined;
  readonly resourceTypes?: readonly AuditedResource[] | undefined;
  /** Streams and parts derived from the id, and the id as sent. */
  readonly resource?:
    | {
        readonly streams: readonly string[];
        readonly parts: readonly string[];
        readonly shown: string;
        readonly owners: number;
      }
    | undefined;
  readonly actions?: readonly string[] | undefined;
  readonly actorOrigin?: ActorOrigin | undefined;
  readonly userId?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
}

/** Only the newest are listed. A client finds older ones with `endDate`. */
export const LISTED_MAX = 10_000;

/** Rows read in each of the two tables and each index. The answer says how far back it reached. */
export const SCANNED_MAX = 20_000;

interface Values {
  readonly name: string;
  readonly sqlType: 'text' | 'int';
  readonly array: Buffer;
  readonly share: number;
}

interface Filter {
  readonly name: string;
  readonly events: Side | undefined;
  readonly attempts: Side | undefined;
}

interface Side {
  /** Each with an index `(customer_id, <column>, occurred_at, <tie>)`. Empty: no index. */
  readonly indexed: readonly IndexColumn[];
  readonly condition: string;
  readonly values: readonly Values[];
}

interface IndexColumn {
  readonly table: string;
  readonly column: string;
  readonly values: Values;
}

const texts = (name: string, values: readonly string[], share = 1): Values => ({
  name,
  sqlType: 'text',
  array: textArray(values),
  share,
});
const listedTexts = (name: string, values: readonly string[]): Values =>
  texts(name, values, Math.max(1, values.length));

const ENTRIES = 'audit_entries';
const ATTEMPTS = 'audit_attempts';

const byColumn = (table: string, column: string, values: Values): Side => ({
  indexed: [{ table, column, values }],
  condition: `s.${column} = any(:${values.name}::${values.sqlType}[])`,
  values: [values],
});

const ofAdvertiser = (id: number): Values => ({
  name: 'advertiser',
  sqlType: 'int',
  array: int4Array([id]),
  share: 1,
});

const both = (column: string, values: Values, ofAttempts = column): Filter => ({
  name: values.name,
  events: byColumn(ENTRIES, column, values),
  attempts: byColumn(ATTEMPTS, ofAttempts, values),
});

const campaignFilter = ({ id, shown }: NonNullable<AuditFilters['campaign']>): Filter => {
  const values = texts('campaign', [id]);
  return {
    name: 'campaign',
    events: {
      indexed: [{ table: 'audit_campaigns', column: 'campaign_id', values }],
      condition: `exists (
        select from audit_campaigns c where c.customer_id = :customerId and c.campaign_id = any(:campaign::text[])
          and c.occurred_at = s.occurred_at and c.position = s.position)`,
      values: [values],
    },
    attempts: byColumn(ATTEMPTS, 'campaign_id', texts('shownCampaign', [shown])),
  };
};

const resourceFilter = ({ streams, parts, shown, owners }: NonNullable<AuditFilters['resource']>): Filter => {
  const [ofStreams, ofParts] = [texts('streams', streams, Math.max(1, owners)), texts('parts', parts)];
  return {
    name: 'resource',
    events: {
      indexed: [
        { table: ENTRIES, column: 'stream', values: ofStreams },
        { table: ENTRIES, column: 'part', values: ofParts },
      ],
      condition: '(s.stream = any(:streams::text[]) or s.part = any(:parts::text[]))',
      values: [ofStreams, ofParts],
    },
    attempts: byColumn(ATTEMPTS, 'resource_id', texts('shown', [shown])),
  };
};

/** Most entries have the first origin: an index would not help. */
const originFilter = (origin: ActorOrigin): Filter => {
  const side: Side = {
    indexed: [],
    condition: `split_part(s.actor, ':', 1) = any(:origin::text[])`,
    values: [texts('origin', [actorOrigins[origin]])],
  };
  return { name: 'origin', events: side, attempts: side };
};

const outcomeFilter = (outcome: AuditOutcome): Filter => ({
  name: outcome,
  events: eventsOf[outcome],
  attempts: outcome === 'success' ? undefined : byColumn(ATTEMPTS, 'outcome', texts('outcome', [outcome])),
});

const FAILED = listedTexts('failures', [...failedWork]);

/** Most entries are successes: an index would not help. A denied request causes no event. */
const eventsOf: Readonly<Record<AuditOutcome, Side | undefined>> = {
  success: { indexed: [], condition: 'not s.type = any(:failures::text[])', values: [FAILED] },
  failed: byColumn(ENTRIES, 'type', FAILED),
  denied: undefined,
};

/** The best estimated selectivity first: its index finds the rows. */
const filtersOf = (asked: AuditFilters): readonly Filter[] => [
  ...(asked.resource === undefined ? [] : [resourceFilter(asked.resource)]),
  ...(asked.campaign === undefined ? [] : [campaignFilter(asked.campaign)]),
  ...(asked.actions === undefined ? [] : [both('type', listedTexts('actions', asked.actions), 'operation')]),
  ...(asked.outcome === undefined ? [] : [outcomeFilter(asked.outcome)]),
  ...(asked.advertiserId === undefined ? [] : [both('advertiser_id', ofAdvertiser(asked.advertiserId))]),
  ...(asked.resourceTypes === undefined
    ? []
    : [both('resource_type', listedTexts('types', asked.resourceTypes))]),
  ...(asked.userId === undefined ? [] : [both('user_id', texts('user', [asked.userId]))]),
  ...(asked.actorOrigin === undefined ? [] : [originFilter(asked.actorOrigin)]),
];

type ParameterValues = Record<string, unknown>;

const BOUNDS = { customerId: 'customerId', from: 'from', before: 'before' };

interface Table {
  readonly name: string;
  readonly tie: string;
  readonly prefix: 'event' | 'attempt';
}
const tables: Readonly<Record<'events' | 'attempts', Table>> = {
  events: { name: ENTRIES, tie: 'position', prefix: 'event' },
  attempts: { name: ATTEMPTS, tie: 'id', prefix: 'attempt' },
};

/**
 * Newest first, limited for each value. Compared and sorted as if by a range of values: only this index has
 * the order, so the planner chooses it for any statistics.
 */
const armOf = (
  { table, column, values }: IndexColumn,
  { tie, prefix }: Table,
  rowsMax: number,
  given: ParameterValues,
): Knex.Raw => {
  const most = `${prefix}sBy_${column}`;
  given[most] = Math.ceil(rowsMax / values.share);
  given[values.name] = values.array;
  return sql.raw(
    `select '${column} ' || one.value as arm, :most::bigint as most, found.occurred_at, found.tie
     from unnest(:values::${values.sqlType}[]) as one(value), lateral (
       select i.occurred_at, i.${tie} as tie from ${table} i
       where i.customer_id = :customerId and i.${column} is not null
         and (i.${column}, i.occurred_at) >= (one.value, :from::timestamptz)
         and (i.${column}, i.occurred_at) < (one.value, :before::timestamptz)
       order by i.${column} desc, i.occurred_at desc, i.${tie} desc
       limit :most::bigint) found`,
    { most, values: values.name, ...BOUNDS },
  );
};

const wholeTable = ({ name, tie, prefix }: Table, rowsMax: number, given: ParameterValues): Knex.Raw => {
  const most = `${prefix}sMax`;
  given[most] = rowsMax;
  return sql.raw(
    `select 'all' as arm, :most::bigint as most, found.occurred_at, found.tie from (
       select i.occurred_at, i.${tie} as tie from ${name} i
       where i.customer_id = :customerId and i.occurred_at >= :from::timestamptz and i.occurred_at < :before::timestamptz
       order by i.occurred_at desc, i.${tie} desc limit :most::bigint) found`,
    { most, ...BOUNDS },
  );
};

/** `found`: rows that are read; `fitting`: those that match all filters. */
const searchOf = (
  table: Table,
  sides: readonly (Side | undefined)[],
  given: ParameterValues,
): { readonly found: Knex.Raw; readonly fitting: Knex.QueryBuilder } => {
  const { name, tie, prefix } = table;
  const fitting = sql(`${prefix}s_found as f`).distinct(
    'f.occurred_at',
    sql.raw('f.tie::text collate "C" as tie'),
  );
  const known = sides.filter((side) => side !== undefined);
  if (known.length < sides.length) {
    const nothing = `select '' as arm, 0::bigint as most, now() as occurred_at, '' as tie limit 0`;
    return { found: sql.raw(nothing), fitting };
  }
  const driver = known.find(({ indexed }) => indexed.length > 0);
  const others = known.filter((side) => side !== driver);
  const rowsMax = others.length === 0 ? LISTED_MAX + 1 : SCANNED_MAX;
  const arms = driver?.indexed.map((one) => armOf(one, table, rowsMax, given)) ?? [
    wholeTable(table, rowsMax, given),
  ];
  if (others.length > 0) {
    const row = `s.customer_id = ? and s.occurred_at = f.occurred_at and s.${tie} = f.tie`;
    fitting.joinRaw(`join ${name} s on ${row}`, ['customerId']);
  }
  for (const { condition, values } of others) {
    for (const one of values) given[one.name] = one.array;
    const names = values.map((one) => [one.name, one.name] as const);
    fitting.whereRaw(condition, { ...Object.fromEntries(names), ...BOUNDS });
  }
  return { found: sql.raw(arms.map(() => '?').join(' union all '), arms), fitting };
};

/**
 * As common table expressions: `listed`, the newest matching rows plus one; of them `page`; `searched_from`
 * and `listed_from`, before which none was read or is listed. Indexes find every row in order, at most
 * `SCANNED_MAX` a table. Parameters are names, with values in `given`; one name always has one text.
 */
export const auditSearch = (
  customerId: number,
  asked: AuditFilters,
  { skip, take }: { readonly skip: number; readonly take: number },
): { readonly name: string; readonly search: Knex.Raw; readonly given: Readonly<ParameterValues> } => {
  const filters = filtersOf(asked);
  const given: ParameterValues = { customerId, from: asked.from, before: asked.before, skip, take };
  const of = (side: 'events' | 'attempts') =>
    searchOf(
      tables[side],
      filters.map((filter) => filter[side]),
      given,
    );
  const [events, attempts] = [of('events'), of('attempts')];
  const search = sql.raw(
    `events_found as materialized (:eventsFound), events as (:events),
    attempts_found as materialized (:attemptsFound), attempts as (:attempts),
    searched_from as materialized (
      select max(oldest) as at from (
        select min(occurred_at) as oldest from (
          select 'event ' || arm as arm, most, occurred_at from events_found
          union all select 'attempt ' || arm, most, occurred_at from attempts_found) looked_at
        group by arm, most having count(*) >= most) ended),
    listed as materialized (
      select * from (
        select occurred_at, tie, true as is_event from events
        union all select occurred_at, tie, false from attempts) fitting
      where occurred_at >= coalesce((select at from searched_from), '-infinity')
      order by occurred_at desc, is_event desc, tie desc limit ${LISTED_MAX + 1}),
    listed_from as materialized (
      select min(occurred_at) as at from (
        select occurred_at from listed order by occurred_at desc, is_event desc, tie desc limit ${LISTED_MAX}) newest
      where (select count(*) from listed) > ${LISTED_MAX}),
    page as materialized (
      select * from listed order by occurred_at desc, is_event desc, tie desc
      limit greatest(0, least(:take::bigint, ${LISTED_MAX} - :skip::bigint)) offset :skip::bigint)`,
    {
      eventsFound: events.found,
      events: events.fitting,
      attemptsFound: attempts.found,
      attempts: attempts.fitting,
      take: 'take',
      skip: 'skip',
    },
  );
  return { name: filters.map(({ name }) => name).join('-'), search, given };
};
