import {
  AppendTooLargeError,
  WrongExpectedRevisionError,
  type EventStore,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { persist } from './persist.ts';

/** The target holds something else where an event of the source belongs. Definite: it is not the same history. */
export class CopyConflictError extends Error {
  override readonly name = 'CopyConflictError';
}

type Target = Pick<EventStore, 'append' | 'readStream'>;

const ACCOUNTS_AT_ONCE = 64;
/** EventStoreDB takes 1 MiB in one append; event ids, types and framing count too. */
const CHUNK_BYTES_MAX = 900_000;
const CHUNK_EVENTS_MAX = 500;

/**
 * Writes consecutive events of the source, of many accounts at a time. Each account's events keep their order,
 * across its streams too: an event never comes before one that it followed from.
 * @throws CopyConflictError; anything else leaves a part written, to be repeated as a whole
 */
export const writePage = async (target: Target, events: readonly RecordedEvent[]): Promise<void> => {
  const accounts = byAccount(events);
  const waiting = accounts.values();
  const work = async (): Promise<void> => {
    for (const one of waiting) {
      for (const chunk of chunksOf(one)) await writeChunk(target, chunk);
    }
  };
  await Promise.all(Array.from({ length: Math.min(ACCOUNTS_AT_ONCE, accounts.size) }, work));
};

const byAccount = (events: readonly RecordedEvent[]): ReadonlyMap<number, readonly RecordedEvent[]> => {
  const accounts = new Map<number, RecordedEvent[]>();
  for (const event of events) {
    const { customerId } = event.metadata;
    const known = accounts.get(customerId);
    if (known === undefined) accounts.set(customerId, [event]);
    else known.push(event);
  }
  return accounts;
};

/** Events of one stream that come one after the other are one append, up to its limits. */
function* chunksOf(events: readonly RecordedEvent[]): Generator<readonly RecordedEvent[]> {
  let chunk: RecordedEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    const size =
      Buffer.byteLength(JSON.stringify(event.data)) + Buffer.byteLength(JSON.stringify(event.metadata));
    const fits =
      chunk[0]?.stream === event.stream && chunk.length < CHUNK_EVENTS_MAX && bytes + size <= CHUNK_BYTES_MAX;
    if (!fits) {
      if (chunk.length > 0) yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(event);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

const writeChunk = async (target: Target, chunk: readonly RecordedEvent[]): Promise<void> => {
  const [first] = chunk;
  if (first === undefined) return;
  const { stream, revision } = first;
  try {
    const events = chunk.map(({ id, type, data, metadata }) => ({ id, type, data, metadata }));
    await persist(() => target.append(stream, events, revision === 0 ? 'no-stream' : revision - 1));
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) {
      await writeChunk(target, await missingOf(target, chunk, error));
    } else if (error instanceof AppendTooLargeError && chunk.length > 1) {
      const half = Math.ceil(chunk.length / 2);
      await writeChunk(target, chunk.slice(0, half));
      await writeChunk(target, chunk.slice(half));
    } else if (error instanceof AppendTooLargeError) {
      throw new CopyConflictError(`${stream}@${revision} is too large for the target: ${error.message}`);
    } else throw error;
  }
};

/** An earlier run, which was killed, may have cut its chunks elsewhere: the first events are there already. */
const missingOf = async (
  target: Target,
  chunk: readonly RecordedEvent[],
  { stream, actual }: WrongExpectedRevisionError,
): Promise<readonly RecordedEvent[]> => {
  const from = chunk[0]?.revision ?? 0;
  const there = await persist(async () => {
    const found: string[] = [];
    for await (const { id } of target.readStream(stream, { from, limit: chunk.length })) found.push(id);
    return found;
  });
  const differs = there.findIndex((id, index) => id !== chunk[index]?.id);
  if (there.length === 0 || differs >= 0) {
    throw new CopyConflictError(
      `the target holds something else at ${stream}@${from + Math.max(0, differs)} (it is at ${actual}): ` +
        'copy to an empty store, or to one that holds an unfinished copy of the same source',
    );
  }
  return chunk.slice(there.length);
};
