import type { ClientBase, Pool } from 'pg';
import {
  comparePositions,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { inTransaction } from '../../shared/postgres/pool.ts';
import { applyIsolated, type FailedEvent } from './apply-events.ts';
import { raiseEpoch } from './checkpoint.ts';
import { errorText } from './projection-failure.ts';
import { listParked, parkedColumns, type ParkedStream } from './parked-streams.ts';
import type { Projection } from './projection.ts';

export type RetryOutcome =
  | { readonly outcome: 'not-parked' }
  | { readonly outcome: 'applied'; readonly events: number }
  | { readonly outcome: 'parked'; readonly stream: ParkedStream };

const CHUNK = 500;

/**
 * Applies the stream from its failing event to the checkpoint, and un-parks it. Holds the checkpoint's row:
 * the live runner's next batch was committed before, or finds another epoch and restarts. It waits for a long
 * stream.
 * @throws any error that no event causes: nothing is changed then
 */
export const retryParked = (
  pool: Pool,
  store: Pick<EventStore, 'readStream'>,
  projection: Projection,
  stream: string,
): Promise<RetryOutcome> =>
  inTransaction(pool, async (client) => {
    const from = await lockParked(client, projection.name, stream);
    if (from === undefined) return { outcome: 'not-parked' };
    const { applied, failed } = await applyUpTo(client, store, projection, { stream, ...from });
    // Rows have changed without a new event, even if the stream stays parked.
    await raiseEpoch(client, projection.name);
    if (failed !== undefined) {
      return { outcome: 'parked', stream: await parkAgain(client, projection.name, failed) };
    }
    await client.query('delete from parked_streams where projection = $1 and stream = $2', [
      projection.name,
      stream,
    ]);
    return { outcome: 'applied', events: applied };
  });

interface Span {
  readonly revision: number;
  readonly checkpoint: Position;
}

const lockParked = async (client: ClientBase, name: string, stream: string): Promise<Span | undefined> => {
  const locked = await client.query<{ position: Position }>(
    'select position from projection_checkpoints where name = $1 for update',
    [name],
  );
  // A separate statement, because it must see commits during the wait for the lock.
  const parked = await client.query<{ revision: number }>(
    'select revision::float8 as revision from parked_streams where projection = $1 and stream = $2',
    [name, stream],
  );
  const checkpoint = locked.rows[0]?.position;
  const revision = parked.rows[0]?.revision;
  return checkpoint === undefined || revision === undefined ? undefined : { revision, checkpoint };
};

const applyUpTo = async (
  client: ClientBase,
  store: Pick<EventStore, 'readStream'>,
  projection: Projection,
  { stream, revision, checkpoint }: Span & { readonly stream: string },
): Promise<{ applied: number; failed?: FailedEvent }> => {
  let applied = 0;
  let chunk: RecordedEvent[] = [];
  const flush = async (): Promise<FailedEvent | undefined> => {
    const [failed] = chunk.length === 0 ? [] : await applyIsolated(client, projection, chunk, 'late');
    applied += chunk.length;
    chunk = [];
    return failed;
  };
  for await (const event of store.readStream(stream, { from: revision })) {
    if (comparePositions(event.position, checkpoint) > 0) break;
    chunk.push(event);
    if (chunk.length < CHUNK) continue;
    const failed = await flush();
    if (failed !== undefined) return { applied, failed };
  }
  const failed = await flush();
  return failed === undefined ? { applied } : { applied, failed };
};

const parkAgain = async (
  client: ClientBase,
  projection: string,
  { event, error }: FailedEvent,
): Promise<ParkedStream> => {
  const { rows } = await client.query<ParkedStream>(
    `update parked_streams set position = $3, revision = $4, event_type = $5, error = $6, attempts = attempts + 1
     where projection = $1 and stream = $2
     returning ${parkedColumns}`,
    [projection, event.stream, event.position, event.revision, event.type, errorText(error)],
  );
  return rows[0] as ParkedStream;
};

/** Each in its own transaction. @throws any error that no event causes: earlier retries stay committed */
export const retryAllParked = async (
  pool: Pool,
  store: Pick<EventStore, 'readStream'>,
  projection: Projection,
): Promise<{ readonly applied: number; readonly parked: number }> => {
  const count = { applied: 0, parked: 0 };
  let after: ParkedStream | undefined;
  while (true) {
    const page = await listParked(pool, { projection: projection.name, ...(after && { after }) });
    for (const { stream } of page) {
      const { outcome } = await retryParked(pool, store, projection, stream);
      if (outcome !== 'not-parked') count[outcome] += 1;
    }
    after = page.at(-1);
    if (after === undefined) return count;
  }
};
