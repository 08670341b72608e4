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

/**
 * With a stream's first event, the row is inserted without being loaded: it exists only if the event is redelivered.
 * @returns in the order of the streams' first events
 * @throws UnprojectableEventError if the folded state belongs to another stream
 */
export const applyFolded = async <State, Live extends State>(
  client: ClientBase,
  table: FoldedTable<State, Live>,
  events: readonly RecordedEvent[],
): Promise<readonly RowChange<Live>[]> => {
  const streams = [...byStream(events)];
  const begun = streams.filter(([, [first]]) => first?.revision === 0);
  const inserted = await writeRows(client, table, begun, 'insert');
  if (inserted.size === streams.length) return [...inserted.values()];
  const rest = streams.filter(([stream]) => !inserted.has(stream));
  const changed = await writeRows(client, table, rest, await loadRows(client, table, rest));
  return streams.flatMap(([stream]) => inserted.get(stream) ?? changed.get(stream) ?? []);
};

type Stream = readonly [name: string, events: readonly RecordedEvent[]];
type KnownRows<Live> = ReadonlyMap<string, FoldResult<Live>>;

interface Row<Live> {
  readonly stream: string;
  readonly revision: number;
  readonly change: RowChange<Live>;
}

/**
 * @param known the rows to change, by stream; `insert`: existing rows stay as they are
 * @returns the rows written, by stream
 */
const writeRows = async <State, Live extends State>(
  client: ClientBase,
  table: FoldedTable<State, Live>,
  streams: readonly Stream[],
  known: KnownRows<Live> | 'insert',
): Promise<ReadonlyMap<string, RowChange<Live>>> => {
  const write = known === 'insert' ? known : 'upsert';
  const before = (stream: string): FoldResult<Live> | undefined =>
    known === 'insert' ? undefined : known.get(stream);
  const pieces: (readonly Row<Live>[])[] = [];
  function* statements(): Generator<QueryConfig> {
    for (const piece of inPieces(streams)) {
      const rows = piece.flatMap((stream) => foldRow(table, stream, before(stream[0])) ?? []);
      if (rows.length === 0) continue;
      pieces.push(rows);
      yield writeStatement(table, rows, write);
    }
  }
  const results = await sendInOrder<RowKey>(client, statements());
  const written = pieces.flatMap((rows, n) => writtenRows(table, rows, results[n]?.rows ?? []));
  return new Map(written.map(({ stream, change }) => [stream, change]));
};

const writtenRows = <State, Live extends State>(
  table: FoldedTable<State, Live>,
  rows: readonly Row<Live>[],
  keys: readonly RowKey[],
): readonly Row<Live>[] => {
  if (keys.length === rows.length) return rows;
  const streams = new Set(keys.map((key) => streamOf(table, placeOf(key))));
  return rows.filter(({ stream }) => streams.has(stream));
};

/** @returns undefined if there is no new event */
const foldRow = <State, Live extends State>(
  table: FoldedTable<State, Live>,
  [stream, recorded]: Stream,
  before: FoldResult<Live> | undefined,
): Row<Live> | undefined => {
  const start: FoldResult<State> = before ?? { state: table.initialState, revision: -1 };
  const folded = foldStream(start, recorded, (state, event) =>
    table.evolve(state, decodeEvent(event, table.events) as never),
  );
  if (folded.revision === start.revision) return undefined;
  const after = placed(table, stream, recorded, folded.state);
  const events = recorded.filter(({ revision }) => revision > start.revision);
  return { stream, revision: folded.revision, change: { before: before?.state, after, events } };
};

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

interface RowKey {
  readonly customer_id: string;
  readonly id: RowPlace['id'];
}

const placeOf = ({ customer_id, id }: RowKey): RowPlace => ({ customerId: Number(customer_id), id });

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
  streams: readonly Stream[],
): Promise<KnownRows<Live>> => {
  const { sql, array, stream: pattern } = ids[table.idType ?? 'uuid'];
  const keys = streams.flatMap(([stream]) => {
    const [, customerId, id] = pattern.exec(stream) ?? [];
    return customerId === undefined || id === undefined ? [] : [{ customerId: Number(customerId), id }];
  });
  const { rows } = await client.query<RowKey & { revision: string; body: string }>({
    name: `${table.table}-load`,
    text: `select t.customer_id, t.id, t.revision, t.body
           from unnest($1::bigint[], $2::${sql}[]) as s(customer_id, id)
           join ${table.table} t on t.customer_id = s.customer_id and t.id = s.id`,
    values: [int8Array(keys.map(({ customerId }) => customerId)), array(keys.map(({ id }) => id))],
  });
  return new Map(
    rows.map((row) => [
      streamOf(table, placeOf(row)),
      { state: JSON.parse(row.body) as Live, revision: Number(row.revision) },
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
  rows: readonly Row<Live>[],
  write: 'insert' | 'upsert',
): QueryConfig => {
  const names = columns.map(({ name }) => name);
  const changing = columns.filter(({ isFixed }) => isFixed !== true).map(({ name }) => name);
  const all = ['customer_id', 'id', 'revision', 'body', ...names];
  const types = ['bigint', ids[idType].sql, 'bigint', 'text', ...columns.map(({ type }) => sqlTypes[type])];
  const selected = columns.map(({ name, type }) => (type === 'timestamptz' ? `${name}::timestamptz` : name));
  const update = `update set ${['revision', 'body', ...changing].map((name) => `${name} = excluded.${name}`).join(', ')}
             where t.revision < excluded.revision`;
  const states = rows.map(({ change }) => change.after);
  const places = states.map(place);
  return {
    name: `${table}-${write}`,
    text: `insert into ${table} as t (${all.join(', ')})
           select customer_id, id, revision, body, ${selected.join(', ')}
           from unnest(${types.map((type, n) => `$${n + 1}::${type}[]`).join(', ')}) as n(${all.join(', ')})
           on conflict (customer_id, id) do ${write === 'insert' ? 'nothing' : update}
           returning t.customer_id, t.id`,
    values: [
      int8Array(places.map(({ customerId }) => customerId)),
      ids[idType].array(places.map(({ id }) => id)),
      int8Array(rows.map(({ revision }) => revision)),
      textArray(states.map((state) => JSON.stringify(state))),
      ...columns.map((column) => arrayOf(column, states)),
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
