import type { Fold } from '../../shared/aggregate/aggregate.ts';
import { loadStream } from '../../shared/aggregate/load-stream.ts';
import type { StorableEvent } from '../../shared/aggregate/recorded-domain-event.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import { coalesce } from '../../shared/async/coalesce.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { int4Array, textArray, uuidArray } from '../../shared/postgres/binary-array.ts';
import { freshnessColumns, freshnessSql, type Freshness } from '../../shared/follow-log/written-position.ts';
import { ReadModelBehindError, readUntilFresh } from '../../shared/follow-log/consistent-read.ts';
import type { ResourceReads } from './resource-reads.ts';

/** Has the columns `customer_id`, `id` and `body`. */
export interface RowSource<
  State,
  Event extends StorableEvent,
  Id extends number | string,
  None extends State,
> extends Fold<State, Event> {
  readonly readModel: string;
  readonly table: string;
  readonly initialState: None;
  readonly stream: (customerId: number, id: Id) => string;
}

export interface RowReads extends ResourceReads {
  readonly store: EventStore;
  readonly snapshots?: SnapshotStore;
}

interface RowKey<Id> {
  readonly customerId: number;
  readonly id: Id;
  readonly stream: string;
}

interface FoundRow extends Freshness {
  readonly body: string | null;
  readonly parked: boolean;
}

/**
 * Concurrent reads share a round trip. Folds the stream if it is parked or the read model is behind.
 * @param idType of the column `id`
 * @returns the state as JSON text; undefined if it does not exist
 */
export const rowReader = <State, Event extends StorableEvent, Id extends number | string, None extends State>(
  reads: RowReads,
  source: RowSource<State, Event, Id, None>,
  idType: Id extends number ? 'int' : 'uuid',
): ((customerId: number, id: Id) => Promise<string | undefined>) => {
  const { progress, store, snapshots } = reads;
  const { readModel: projection, stream: streamOf, initialState } = source;
  const find = coalesce(
    (keys: readonly RowKey<Id>[]): Promise<readonly FoundRow[]> => findRows(reads, source, idType, keys),
    { batchMax: 100, inFlightMax: 2 },
  );
  return async (customerId, id) => {
    const stream = streamOf(customerId, id);
    try {
      const row = await readUntilFresh({ projection, progress }, () => find({ customerId, id, stream }));
      if (!row.parked) return row.body ?? undefined;
    } catch (error) {
      if (!(error instanceof ReadModelBehindError)) throw error;
    }
    const { state } = await loadStream(store, source, stream, { snapshots });
    return state === initialState ? undefined : JSON.stringify(state);
  };
};

export const stateReader = <State, Event extends StorableEvent, None extends State>(
  reads: RowReads,
  source: RowSource<State, Event, string, None>,
) => {
  const read = rowReader(reads, source, 'uuid');
  return async (customerId: number, id: string): Promise<Exclude<State, None> | undefined> => {
    const body = await read(customerId, id);
    return body === undefined ? undefined : (JSON.parse(body) as Exclude<State, None>);
  };
};

/** One for each account: a transaction sees the rows of one account only (docs/design/isolation.md). */
const findRows = async <Id extends number | string>(
  { database }: ResourceReads,
  { readModel, table }: { readonly readModel: string; readonly table: string },
  idType: 'int' | 'uuid',
  keys: readonly RowKey<Id>[],
): Promise<readonly FoundRow[]> => {
  const statement = {
    name: `get-${table}`,
    text: `select ${freshnessColumns('f')},
             (select t.body from ${table} t where t.customer_id = $1 and t.id = q.id) as body,
             exists (select from parked_streams p where p.projection = $2 and p.stream = q.stream) as parked
           from ${freshnessSql('$1', '$2')} f,
             unnest($3::${idType}[], $4::text[]) with ordinality as q(id, stream, n)
           order by n`,
  };
  const idArray = (ids: readonly Id[]): Buffer =>
    idType === 'int' ? int4Array(ids.map(Number)) : uuidArray(ids.map(String));
  const accounts = [...new Set(keys.map(({ customerId }) => customerId))].map(
    (customerId) => [customerId, keys.filter((key) => key.customerId === customerId)] as const,
  );
  const answers = await database.queryEach<FoundRow>(
    statement,
    accounts.map(([customerId, ofAccount]) => ({
      customerId,
      values: [
        customerId,
        readModel,
        idArray(ofAccount.map(({ id }) => id)),
        textArray(ofAccount.map(({ stream }) => stream)),
      ],
    })),
  );
  const rows = new Map(
    accounts.flatMap(([, ofAccount], account) =>
      ofAccount.map((key, n) => [key, answers[account]?.[n]] as const),
    ),
  );
  return keys.map((key) => rows.get(key) as FoundRow);
};
