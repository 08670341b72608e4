import type { ClientBase, QueryConfig } from 'pg';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { boolArray, int4Array, int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { decodeEvent, type EventSchemas } from './engine/decode-event.ts';
import { byStream, foldStream, type FoldResult } from './engine/fold-streams.ts';
import { UnprojectableEventError } from './engine/projection.ts';
import { inPieces, sendInOrder } from './engine/send-in-order.ts';

export interface RowPlace {
  readonly customerId: number;
  readonly id: string | number;
}

export type Column<State> = {
  readonly name: string;
  readonly isFixed?: true;
} & (
  | { readonly type: 'int4' | 'int8'; readonly value: (state: State) => number }
  | { readonly type: 'text' | 'uuid' | 'timestamptz'; readonly value: (state: State) => string }
  | { readonly type: 'boolean'; readonly value: (state: State) => boolean }
);

export interface FoldedTable<State, Live extends State> {
  /** Has the columns `customer_id`, `id`, `revision`, `body` and `columns`. */
  readonly table: string;
  /** Default: `uuid`. */
  readonly idType?: 'uuid' | 'int4';
  readonly category: string;
  readonly events: EventSchemas;
  readonly initialState: State;
  readonly evolve: (state: State, event: never) => State;
  readonly live: (state: State) => Live | undefined;
  readonly place: (live: Live) => RowPlace;
  readonly columns: readonly Column<Live>[];
}

export interface RowChange<Live> {
  readonly before: Live | undefined;
  readonly after: Live;
  readonly events: readonly RecordedEvent[];
}

/** @throws UnprojectableEventError if the folded state belongs to another stream */
export const applyFolded = async <State, Live extends State>(
  client: ClientBase,
  table: FoldedTable<State, Live>,
  events: readonly RecordedEvent[],
): Promise<readonly RowChange<Live>[]> => {
  const streams = byStream(events);
  if (streams.size === 0) return [];
  const known = await loadRows(client, table, [...streams.keys()]);
  const changes: RowChange<Live>[] = [];
  await sendInOrder(client, writes(table, streams, known, changes));
  return changes;
};

type KnownRows<Live> = ReadonlyMap<string, FoldResult<Live>>;

function* writes<State, Live extends State>(
  table: FoldedTable<State, Live>,
  streams: ReadonlyMap<string, readonly RecordedEvent[]>,
  known: KnownRows<Live>,
  changes: RowChange<Live>[],
): Generator<QueryConfig> {
  for (const piece of inPieces([...streams])) {
    const rows: (RowChange<Live> & { readonly revision: number })[] = [];
    for (const [stream, recorded] of piece) {
      const before = known.get(stream);
      const start: FoldResult<State> = before ?? { state: table.initialState, revision: -1 };
      const folded = foldStream(start, recorded, (state, event) =>
        table.evolve(state, decodeEvent(event, table.events) as never),
      );
      if (folded.revision === start.revision) continue;
      const after = placed(table, stream, recorded, folded.state);
      const fresh = recorded.filter(({ revision }) => revision > start.revision);
      rows.push({ before: before?.state, after, events: fresh, revision: folded.revision });
    }
    changes.push(...rows);
    if (rows.length > 0) yield writeStatement(table, rows);
  }
}

/** The stream name decides, never an event's data: no event can write another account's rows. */
const placed = <State, Live extends State>(
  table: FoldedTable<State, Live>,
  stream: string,
  [first]: readonly RecordedEvent[],
  state: State,
): Live => {
  const live = table.live(state);
  if (live !== undefined && streamOf(table, table.place(live)) === stream) return live;
  const reason = `the stream name does not match the resource that its events describe`;
  throw first === undefined ? new Error(reason) : new UnprojectableEventError(first, reason);
};

const streamOf = ({ category }: { readonly category: string }, { customerId, id }: RowPlace): string =>
  `${category}-${customerId}-${id}`;

export const UUID_STREAM = /^[^-]+-(\d+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const ids = {
  uuid: {
    sql: 'uuid',
    stream: UUID_STREAM,
    array: (values: readonly RowPlace['id'][]): Buffer => uuidArray(values.map(String)),
  },
  int4: {
    sql: 'int',
    stream: /^[^-]+-(\d+)-(\d+)$/,
    array: (values: readonly RowPlace['id'][]): Buffer => int4Array(values.map(Number)),
  },
} as const;

const loadRows = async <State, Live extends State>(
  client: ClientBase,
  table: FoldedTable<State, Live>,
  streams: readonly string[],
): Promise<KnownRows<Live>> => {
  const { sql, array, stream: pattern } = ids[table.idType ?? 'uuid'];
  const keys = streams.flatMap((stream) => {
    const [, customerId, id] = pattern.exec(stream) ?? [];
    return customerId === undefined || id === undefined ? [] : [{ customerId: Number(customerId), id }];
  });
  const { rows } = await client.query<{
    customer_id: string;
    id: RowPlace['id'];
    revision: string;
    body: string;
  }>({
    name: `${table.table}-load`,
    text: `select t.customer_id, t.id, t.revision, t.body
           from unnest($1::bigint[], $2::${sql}[]) as s(customer_id, id)
           join ${table.table} t on t.customer_id = s.customer_id and t.id = s.id`,
    values: [int8Array(keys.map(({ customerId }) => customerId)), array(keys.map(({ id }) => id))],
  });
  return new Map(
    rows.map(({ customer_id, id, revision, body }) => [
      streamOf(table, { customerId: Number(customer_id), id }),
      { state: JSON.parse(body) as Live, revision: Number(revision) },
    ]),
  );
};

export const sqlTypes = {
  int4: 'int',
  int8: 'bigint',
  uuid: 'uuid',
  text: 'text',
  timestamptz: 'text',
  boolean: 'boolean',
} as const;

const writeStatement = <State, Live extends State>(
  { table, idType = 'uuid', columns, place }: FoldedTable<State, Live>,
  rows: readonly { readonly after: Live; readonly revision: number }[],
): QueryConfig => {
  const names = columns.map(({ name }) => name);
  const changing = columns.filter(({ isFixed }) => isFixed !== true).map(({ name }) => name);
  const all = ['customer_id', 'id', 'revision', 'body', ...names];
  const types = ['bigint', ids[idType].sql, 'bigint', 'text', ...columns.map(({ type }) => sqlTypes[type])];
  const selected = columns.map(({ name, type }) => (type === 'timestamptz' ? `${name}::timestamptz` : name));
  return {
    name: `${table}-write`,
    text: `insert into ${table} as t (${all.join(', ')})
           select customer_id, id, revision, body, ${selected.join(', ')}
           from unnest(${types.map((type, n) => `$${n + 1}::${type}[]`).join(', ')}) as n(${all.join(', ')})
           on conflict (customer_id, id) do update
             set ${['revision', 'body', ...changing].map((name) => `${name} = excluded.${name}`).join(', ')}
             where t.revision < excluded.revision`,
    values: [
      int8Array(rows.map(({ after }) => place(after).customerId)),
      ids[idType].array(rows.map(({ after }) => place(after).id)),
      int8Array(rows.map(({ revision }) => revision)),
      textArray(rows.map(({ after }) => JSON.stringify(after))),
      ...columns.map((column) =>
        arrayOf(
          column,
          rows.map(({ after }) => after),
        ),
      ),
    ],
  };
};

export const arrayOf = <Live>(column: Column<Live>, states: readonly Live[]): Buffer => {
  switch (column.type) {
    case 'int4':
      return int4Array(states.map(column.value));
    case 'int8':
      return int8Array(states.map(column.value));
    case 'boolean':
      return boolArray(states.map(column.value));
    case 'uuid':
      return uuidArray(states.map(column.value));
    case 'text':
    case 'timestamptz':
      return textArray(states.map(column.value));
    default:
      return column satisfies never;
  }
};
