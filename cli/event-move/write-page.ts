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

/** The target holds something else where an event of the source belongs. Definite: it is not the same history. */
export class CopyConflictError extends Error {
  override readonly name = 'CopyConflictError';
}

type Target = Pick<EventStore, 'append' | 'readStream'>;

/** Appends in flight. The events of one page wait for one another where one may follow from the other. */
const APPENDS_AT_ONCE = 64;
/** EventStoreDB takes 1 MiB in one append; event ids, types and framing count too. */
const CHUNK_BYTES_MAX = 900_000;
const CHUNK_EVENTS_MAX = 500;

/**
 * Writes consecutive events of the source, many streams at a time. Each stream's events keep their order. Across the
 * streams of an account an event never comes before one that it may have followed from (`tiesOf`); others may change
 * places with those near them.
 * After a failure nothing more is sent, and what is in flight has ended when it is thrown.
 * @throws CopyConflictError; anything else leaves a part written, to be repeated as a whole
 */
export const writePage = async (target: Target, events: readonly RecordedEvent[]): Promise<void> => {
  const perAccount = [...byAccount(events).values()].flatMap((account) => [...chunksOf(account)]);
  const chunks = perAccount.toSorted(([a], [b]) => comparePositions(positionOf(a), positionOf(b)));
  const written = new Map<string, Promise<unknown>>();
  const failures: unknown[] = [];
  // They begin in their order: all that a chunk waits for has begun before it.
  await pLimit(APPENDS_AT_ONCE).map(chunks, async (chunk) => {
    if (failures.length > 0) return;
    const { waitsFor, isWaitedForAs } = tiesOf(chunk);
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

interface Ties {
  readonly waitsFor: ReadonlySet<string>;
  readonly isWaitedForAs: ReadonlySet<string>;
}

/** For streams of the account itself (`account-7`): they wait for everything before them, and everything after waits. */
const EVERYTHING = '*';
const OF_ACCOUNT = '#';
const isShared = (name: string): boolean => name.endsWith(` ${EVERYTHING}`);

/**
 * By what an event may follow from another one of its account: it is of the same stream, it names the other's stream by
 * its id anywhere in its data, was caused by it, or belongs to the same request.
 */
const tiesOf = (chunk: readonly RecordedEvent[]): Ties => {
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

/** `1001` of `advertiser-7-1001`, as other streams' events name it. */
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
