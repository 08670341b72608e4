import type { ActorOrigin, AuditedResource, AuditOutcome } from '../../domain/history/audit-log-resource.ts';
import { failedWork } from './failed-work.ts';
import { int4Array, textArray } from '../../shared/postgres/binary-array.ts';

export interface AuditFilters {
  /** ISO 8601; from the first, before the second. */
  readonly from: string;
  readonly before: string;
  readonly advertiserId?: number | undefined;
  /** UUID, and as it is shown. */
  readonly campaign?: { readonly id: string; readonly shown: string } | undefined;
  readonly resourceTypes?: readonly AuditedResource[] | undefined;
  /** Where events of the thing are, if that follows from its id; and its id as requests have it. */
  readonly resource?:
    | {
        readonly streams: readonly string[];
        readonly parts: readonly string[];
        readonly shown: string;
        /** Things of several owners may be called so: how many of them there are. */
        readonly owners: number;
      }
    | undefined;
  readonly actions?: readonly string[] | undefined;
  readonly actorOrigin?: ActorOrigin | undefined;
  /** Whose key it was. */
  readonly userId?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
}

/** As far back as a list of entries goes: of more, the newest. What is older is found by naming its time. */
export const LISTED_MAX = 10_000;

/**
 * Rows that one search looks at in each of the two tables, and in each index that it needs for them. It says how far that
 * went where there is more.
 */
export const SCANNED_MAX = 20_000;

/** A value of a filter, or several of which each will do, as a parameter; where it stands in an index. */
interface Values {
  readonly sqlType: 'text' | 'int';
  readonly array: Buffer;
  /** Among so many of them what one search looks at is divided. */
  readonly share: number;
}

/** A filter: how it is looked up by, where it has an index; and as a condition, where another one is. */
interface Filter {
  readonly name: string;
  readonly events: Side | undefined;
  readonly attempts: Side | undefined;
}

/** A filter in one of the tables. Undefined there: nothing of that table fits it. */
interface Side {
  /** Columns with an index `(customer_id, <column>, occurred_at, <tie>)`, each with its values. Empty: there is none. */
  readonly indexed: readonly Indexed[];
  /** @param of the parameter of these values */
  readonly condition: (parameter: (values: Values) => string) => string;
}

interface Indexed {
  readonly table: string;
  readonly column: string;
  readonly values: Values;
}

const texts = (values: readonly string[], share = 1): Values => ({
  sqlType: 'text',
  array: textArray(values),
  share,
});
/** Each of which may have all that there is. */
const listedTexts = (values: readonly string[]): Values => texts(values, Math.max(1, values.length));

const ENTRIES = 'audit_entries';
const ATTEMPTS = 'audit_attempts';

const byColumn = (table: string, column: string, values: Values): Side => ({
  indexed: [{ table, column, values }],
  condition: (parameter) => `s.${column} = any(${parameter(values)})`,
});

const ofAdvertiser = (id: number): Values => ({ sqlType: 'int', array: int4Array([id]), share: 1 });

const both = (name: string, column: string, values: Values, ofAttempts = column): Filter => ({
  name,
  events: byColumn(ENTRIES, column, values),
  attempts: byColumn(ATTEMPTS, ofAttempts, values),
});

const campaignFilter = ({ id, shown }: NonNullable<AuditFilters['campaign']>): Filter => {
  const values = texts([id]);
  return {
    name: 'campaign',
    events: {
      indexed: [{ table: 'audit_campaigns', column: 'campaign_id', values }],
      condition: (parameter) => `exists (
        select from audit_campaigns c where c.customer_id = $1 and c.campaign_id = any(${parameter(values)})
          and c.occurred_at = s.occurred_at and c.position = s.position)`,
    },
    attempts: byColumn(ATTEMPTS, 'campaign_id', texts([shown])),
  };
};

const resourceFilter = ({ streams, parts, shown, owners }: NonNullable<AuditFilters['resource']>): Filter => {
  const [ofStreams, ofParts] = [texts(streams, Math.max(1, owners)), texts(parts)];
  return {
    name: 'resource',
    events: {
      indexed: [
        { table: ENTRIES, column: 'stream', values: ofStreams },
        { table: ENTRIES, column: 'part', values: ofParts },
      ],
      condition: (parameter) =>
        `(s.stream = any(${parameter(ofStreams)}) or s.part = any(${parameter(ofParts)}))`,
    },
    attempts: byColumn(ATTEMPTS, 'resource_id', texts([shown])),
  };
};

const ORIGINS: Readonly<Record<ActorOrigin, string>> = {
  API_KEY: 'api-key',
  UPLOAD: 'upload',
  WORKER: 'worker',
  OPERATOR: 'operator',
};

/** Most entries have the first of them: no index would be of use. */
const originFilter = (origin: ActorOrigin): Filter => {
  const values = texts([ORIGINS[origin]]);
  const side: Side = {
    indexed: [],
    condition: (parameter) => `split_part(s.actor, ':', 1) = any(${parameter(values)})`,
  };
  return { name: 'origin', events: side, attempts: side };
};

const outcomeFilter = (outcome: AuditOutcome): Filter => ({
  name: outcome,
  events: eventsOf[outcome],
  attempts: outcome === 'success' ? undefined : byColumn(ATTEMPTS, 'outcome', texts([outcome])),
});

const FAILED = listedTexts([...failedWork]);

/** Most succeed: no index would be of use. Who is denied something has led to no event. */
const eventsOf: Readonly<Record<AuditOutcome, Side | undefined>> = {
  success: { indexed: [], condition: (parameter) => `not s.type = any(${parameter(FAILED)})` },
  failed: byColumn(ENTRIES, 'type', FAILED),
  denied: undefined,
};

/** The one that lets the least through comes first, as far as one can tell: by its index rows are found. */
const filtersOf = (asked: AuditFilters): readonly Filter[] => [
  ...(asked.resource === undefined ? [] : [resourceFilter(asked.resource)]),
  ...(asked.campaign === undefined ? [] : [campaignFilter(asked.campaign)]),
  ...(asked.actions === undefined ? [] : [both('actions', 'type', listedTexts(asked.actions), 'operation')]),
  ...(asked.outcome === undefined ? [] : [outcomeFilter(asked.outcome)]),
  ...(asked.advertiserId === undefined
    ? []
    : [both('advertiser', 'advertiser_id', ofAdvertiser(asked.advertiserId))]),
  ...(asked.resourceTypes === undefined
    ? []
    : [both('types', 'resource_type', listedTexts(asked.resourceTypes))]),
  ...(asked.userId === undefined ? [] : [both('user', 'user_id', texts([asked.userId]))]),
  ...(asked.actorOrigin === undefined ? [] : [originFilter(asked.actorOrigin)]),
];

/** What is bound to a statement beyond its first parameters. */
interface Parameters {
  readonly of: (value: unknown) => string;
  readonly ofValues: (values: Values) => string;
}

const parametersInto = (bound: unknown[]): Parameters => {
  const of = (value: unknown): string => `$${bound.push(value)}`;
  return { of, ofValues: ({ array, sqlType }) => `${of(array)}::${sqlType}[]` };
};

interface Table {
  readonly name: string;
  readonly tie: string;
  /** Of the rows' names in the statement. */
  readonly prefix: 'event' | 'attempt';
}
const tables: Readonly<Record<'events' | 'attempts', Table>> = {
  events: { name: ENTRIES, tie: 'position', prefix: 'event' },
  attempts: { name: ATTEMPTS, tie: 'id', prefix: 'attempt' },
};

/**
 * The rows that one index leads to, newest first, for each of the values so many. The column is compared and ordered by
 * as if it had a range of values: then no other index gives that order, whatever the table is like on the day that the
 * statement is planned.
 */
const armOf = (
  { table, column, values }: Indexed,
  tie: string,
  rowsMax: number,
  { of, ofValues }: Parameters,
): string => {
  const most = `${of(Math.ceil(rowsMax / values.share))}::bigint`;
  return `
    select '${column} ' || one.value as arm, ${most} as most, found.occurred_at, found.tie
    from unnest(${ofValues(values)}) as one(value), lateral (
      select i.occurred_at, i.${tie} as tie from ${table} i
      where i.customer_id = $1 and i.${column} is not null and (i.${column}, i.occurred_at) >= (one.value, $3::timestamptz)
        and (i.${column}, i.occurred_at) < (one.value, $4::timestamptz)
      order by i.${column} desc, i.occurred_at desc, i.${tie} desc
      limit ${most}) found`;
};

/** The newest rows, whatever they are. */
const wholeTable = ({ name, tie }: Table, rowsMax: number, { of }: Parameters): string => {
  const most = `${of(rowsMax)}::bigint`;
  return `
    select 'all' as arm, ${most} as most, found.occurred_at, found.tie from (
      select i.occurred_at, i.${tie} as tie from ${name} i
      where i.customer_id = $1 and i.occurred_at >= $3::timestamptz and i.occurred_at < $4::timestamptz
      order by i.occurred_at desc, i.${tie} desc limit ${most}) found`;
};

/** `<prefix>s_found`, what was looked at; `<prefix>s`, what of it fits. */
const searchOf = (table: Table, sides: readonly (Side | undefined)[], parameters: Parameters): string => {
  const { name, tie, prefix } = table;
  const known = sides.filter((side) => side !== undefined);
  if (known.length < sides.length) {
    return `${prefix}s_found as (
        select ''::text as arm, 0::bigint as most, now() as occurred_at, ''::text as tie limit 0),
      ${prefix}s as (select occurred_at, tie from ${prefix}s_found)`;
  }
  const driver = known.find(({ indexed }) => indexed.length > 0);
  const others = known.filter((side) => side !== driver);
  const rowsMax = others.length === 0 ? LISTED_MAX + 1 : SCANNED_MAX;
  const arms = driver?.indexed.map((one) => armOf(one, tie, rowsMax, parameters));
  const conditions = others.map(({ condition }) => condition(parameters.ofValues));
  return `${prefix}s_found as materialized (
      ${arms?.join(' union all ') ?? wholeTable(table, rowsMax, parameters)}),
    ${prefix}s as (
      select distinct f.occurred_at, f.tie::text collate "C" as tie from ${prefix}s_found f
      ${
        conditions.length === 0
          ? ''
          : `join ${name} s on s.customer_id = $1 and s.occurred_at = f.occurred_at and s.${tie} = f.tie
             where ${conditions.join(' and ')}`
      })`;
};

/**
 * The search for a page of entries, as common table expressions: `listed`, the newest that fit and one more, of them
 * `page`; `searched_from`, before which nothing was looked at; and `listed_from`, before which nothing is listed, where
 * more would have fit. Every row that it looks at was found by an index, in the order of
 * the answer, and at most `SCANNED_MAX` of each table are.
 *
 * $1 is the account, $2 the read model, $3 and $4 the time. One name, one text.
 */
export const auditSearch = (
  customerId: number,
  asked: AuditFilters,
  { skip, take }: { readonly skip: number; readonly take: number },
): { readonly name: string; readonly text: string; readonly values: readonly unknown[] } => {
  const filters = filtersOf(asked);
  const values: unknown[] = [customerId, 'audit', asked.from, asked.before];
  const parameters = parametersInto(values);
  const ofSide = (side: 'events' | 'attempts'): string =>
    searchOf(
      tables[side],
      filters.map((filter) => filter[side]),
      parameters,
    );
  const found = `${ofSide('events')}, ${ofSide('attempts')}`;
  const skipped = parameters.of(skip);
  const text = `${found},
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
      limit greatest(0, least(${parameters.of(take)}::bigint, ${LISTED_MAX} - ${skipped}::bigint))
      offset ${skipped}::bigint)`;
  return { name: filters.map(({ name }) => name).join('-'), text, values };
};
