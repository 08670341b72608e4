import { DatabaseError } from 'pg';
import type { Row, Table } from './database.ts';
import { readArray } from './read-array.ts';
import { strings, type Statement } from './statement.ts';

/** The statements of projections/ on checkpoints, parked streams and the advertisers read model. */

const checkpointLock = (values: readonly unknown[]): string => `checkpoint ${String(values[0])}`;
const parkedKey = (projection: unknown, stream: unknown): string => `${String(projection)} ${String(stream)}`;

const parkedOf = (parked: Table, projection: unknown): readonly Row[] =>
  parked.rows().flatMap(([, row]) => (row['projection'] === projection ? [row] : []));

const checkpointStatements: readonly Statement[] = [
  {
    is: 'insert into projection_checkpoints',
    run: ({ checkpoints }, [name, position]) => {
      if (checkpoints.get(String(name)) === undefined) checkpoints.set(String(name), { position, epoch: 0 });
      return 0;
    },
  },
  {
    is: 'select position, epoch, array(',
    run: ({ checkpoints, parked }, [name]) => {
      const row = checkpoints.get(String(name));
      return row === undefined
        ? []
        : [{ ...row, parked: parkedOf(parked, name).map(({ stream }) => stream) }];
    },
  },
  {
    is: 'move-checkpoint',
    locks: checkpointLock,
    run: ({ checkpoints }, [name, from, epoch, to]) => {
      const row = checkpoints.get(String(name));
      if (row === undefined || row['position'] !== from || row['epoch'] !== epoch) return 0;
      checkpoints.set(String(name), { ...row, position: to });
      return 1;
    },
  },
  {
    is: 'select position from projection_checkpoints where name = $1 for update',
    locks: checkpointLock,
    run: ({ checkpoints }, [name]) => [checkpoints.get(String(name)) ?? []].flat(),
  },
  {
    is: 'update projection_checkpoints set epoch',
    locks: checkpointLock,
    run: ({ checkpoints }, [name]) => {
      const row = checkpoints.get(String(name));
      if (row !== undefined) checkpoints.set(String(name), { ...row, epoch: Number(row['epoch']) + 1 });
      return 1;
    },
  },
];

const parkedStatements: readonly Statement[] = [
  {
    is: 'insert into parked_streams',
    run: ({ parked }, [projection, streams, , positions, revisions]) => {
      for (const [index, stream] of strings(streams).entries()) {
        const place = { position: strings(positions)[index], revision: (revisions as number[])[index] };
        parked.set(parkedKey(projection, stream), { projection, stream, ...place });
      }
      return strings(streams).length;
    },
  },
  {
    is: 'select revision::float8 as revision from parked_streams',
    run: ({ parked }, [projection, stream]) => [parked.get(parkedKey(projection, stream)) ?? []].flat(),
  },
  {
    is: 'update parked_streams set position',
    run: ({ parked }, [projection, stream, position, revision]) => {
      const row = { projection, stream, position, revision };
      parked.set(parkedKey(projection, stream), row);
      return [row];
    },
  },
  {
    is: 'delete from parked_streams',
    run: ({ parked }, [projection, stream]) => {
      parked.delete(parkedKey(projection, stream));
      return 1;
    },
  },
];

/** A value that Postgres refuses until the cause is repaired. */
export const POISON = 'poison';
const refusePoison = (body: unknown, isMended: boolean): void => {
  if (isMended || !String(body).includes(POISON)) return;
  const error = new DatabaseError('invalid byte sequence for encoding', 0, 'error');
  error.code = '22021';
  throw error;
};

const rowKey = (customerId: unknown, id: unknown): string => `${String(customerId)} ${String(id)}`;

const writeAdvertisers =
  (isToWrite: (known: Row | undefined, revision: unknown) => boolean): Statement['run'] =>
  ({ advertisers }, values, { isMended }) => {
    const [customerIds = [], ...columns] = values.map(readArray);
    return customerIds.flatMap((customer_id, index) => {
      const [id, revision, body, status, sandbox] = columns.map((column) => column[index]);
      refusePoison(body, isMended);
      const row = advertisers.get(rowKey(customer_id, id));
      if (!isToWrite(row, revision)) return [];
      advertisers.set(rowKey(customer_id, id), { customer_id, id, sandbox, ...row, revision, status, body });
      return [{ customer_id, id }];
    });
  };

const advertiserStatements: readonly Statement[] = [
  {
    is: 'advertisers-load',
    run: ({ advertisers }, values) => {
      const [customerIds = [], ids = []] = values.map(readArray);
      return customerIds.flatMap((customer_id, index) => {
        const row = advertisers.get(rowKey(customer_id, ids[index]));
        return row === undefined ? [] : [row];
      });
    },
  },
  { is: 'advertisers-insert', run: writeAdvertisers((known) => known === undefined) },
  {
    is: 'advertisers-upsert',
    run: writeAdvertisers((known, revision) => Number(known?.['revision'] ?? -1) < Number(revision)),
  },
  {
    is: 'advertiser_counts-add',
    run: ({ counts }, values) => {
      const columns = values.map(readArray);
      for (const [index, change] of (columns[0] ?? []).entries()) {
        const key = columns
          .slice(1)
          .map((column) => column[index])
          .join('/');
        counts.set(key, { count: Number(counts.get(key)?.['count'] ?? 0) + Number(change) });
      }
      return 0;
    },
  },
];

export const projectionStatements: readonly Statement[] = [
  ...checkpointStatements,
  ...parkedStatements,
  ...advertiserStatements,
  { is: 'set constraints all immediate', run: () => 0 },
];
