import pLimit from 'p-limit';
import {
  AppendTooLargeError,
  comparePositions,
  START,
  WrongExpectedRevisionError,
  type EventStore,
  type JsonValue,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { persist } from './persist.ts';

export class CopyConflictError extends Error {
  override readonly name = 'CopyConflictError';
}

type Target = Pick<EventStore, 'append' | 'readStream'>;

/** Concurrent appends. A chunk still waits for the chunks that it depends on (`dependenciesOf`). */
const APPENDS_AT_ONCE = 64;
/** EventStoreDB accepts 1 MiB per append, which includes event ids, types and framing. */
const CHUNK_BYTES_MAX = 900_000;
const CHUNK_EVENTS_MAX = 500;

/**
 * Writes several streams at a time, but no event before one of its account that it depends on.
 * @throws CopyConflictError when running appends have ended; after any other error repeat the page
 */
export const writePage = async (target: Target, events: readonly RecordedEvent[]): Promise<void> => {
  const perAccount = [...byAccount(events).values()].flatMap((account) => [...chunksOf(account)]);
  const chunks = perAccount.toSorted(([a], [b]) => comparePositions(positionOf(a), positionOf(b)));
  const written = new Map<string, Promise<unknown>>();
  const failures: unknown[] = [];
  // Chunks start in log order, so every dependency of a chunk has started before it.
  await pLimit(APPENDS_AT_ONCE).map(chunks, async (chunk) => {
    if (failures.length > 0) return;
    const { waitsFor, isWaitedForAs } = dependenciesOf(chunk);
    const before = new Set([...waitsFor].flatMap((name) => written.get(name) ?? []));
    const writing = Promise.all(before)
      .then(() => (failures.length > 0 ? undefined : writeChunk(target, chunk)))
      .catch((error: unknown) => void failures.push(error));
    for (const name of isWaitedForAs) {
      written.set(name, isShared(name) ? Promise.all([written.get(name), writing]) : writing);
    }
    await writing;
  });
  if (failures.length > 0) throw failures[0];
};

const positionOf = (event: RecordedEvent | undefined): Position => event?.position ?? START;

interface Dependencies {
  readonly waitsFor: ReadonlySet<string>;
  readonly isWaitedForAs: ReadonlySet<string>;
}

/** The account stream (`account-7`) is ordered against all other streams of the account. */
const EVERYTHING = '*';
const OF_ACCOUNT = '#';
const isShared = (name: string): boolean => name.endsWith(` ${EVERYTHING}`);

/** An event depends on its stream, on a stream that its data names, on its cause, and on its request. */
const dependenciesOf = (chunk: readonly RecordedEvent[]): Dependencies => {
  const waitsFor = new Set<string>();
  const isWaitedForAs = new Set<string>();
  for (const { id, stream, data, metadata } of chunk) {
    const { customerId, actor, causationId, correlationId } = metadata;
    const of = (name: string): string => `${customerId} ${name}`;
    const isOfAccount = stream.endsWith(`-${customerId}`);
    const own = [
      stream,
      idOfStream(stream),
      id,
      correlationId,
      EVERYTHING,
      ...(isOfAccount ? [OF_ACCOUNT] : []),
    ];
    for (const name of own) isWaitedForAs.add(of(name));
    const others = [OF_ACCOUNT, causationId, actor.slice(actor.indexOf(':') + 1)];
    for (const name of [stream, correlationId, ...others]) waitsFor.add(of(name));
    if (isOfAccount) waitsFor.add(of(EVERYTHING));
    eachScalar(data, (value) => waitsFor.add(of(value)));
  }
  return { waitsFor, isWaitedForAs };
};

const idOfStream = (stream: string): string => stream.split('-').slice(2).join('-') || stream;

const eachScalar = (value: JsonValue, take: (text: string) => void): void => {
  if (typeof value === 'string' || typeof value === 'number') take(String(value));
  else if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) eachScalar(member, take);
  }
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

/** A killed run may have cut its chunks elsewhere, so the target can contain the beginning of this one. */
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
      `the target contains a different event at ${stream}@${from + Math.max(0, differs)} (its stream ends at revision ${actual}): ` +
        'copy to an empty store, or to one with an unfinished copy of the same source',
    );
  }
  return chunk.slice(there.length);
};
