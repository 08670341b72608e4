import { setImmediate as nextTurn } from 'node:timers/promises';
import { LogGapError, type Position } from '../event-store/event-store.ts';
import { SealRefusedError, trustedEnd, type SealRequest, type SealOptions } from './chain-end.ts';
import { LEAF_BYTES, nextHash } from './chain.ts';
import { insertCheckpoint, sealedAtOf, signedText, type ChainEnd, type Checkpoint } from './checkpoints.ts';
import { pagesOf, type EventBytes, type LogBytes } from './log-bytes.ts';
import { keepPublicKey } from './log-keys.ts';

/** Gives about 8 KiB of leaves. */
const EVENTS_MAX = 1_000;
/** About 1 ms between two yields to the event loop. */
const YIELD_EVERY = 250;

/** The first writer of a checkpoint number succeeds, other processes stop. @throws SealRefusedError */
export async function* sealLog(
  options: SealOptions,
  request: SealRequest = {},
): AsyncGenerator<Checkpoint, ChainEnd, void> {
  const { pool, keys, signal } = options;
  let { end, adopted } = await trustedEnd(options, request);
  let left: readonly EventBytes[] = [];
  let isKeyKept = false;
  const add = async (events: readonly EventBytes[]): Promise<Checkpoint | undefined> => {
    const checkpoint = await seal(options, end, events);
    if (checkpoint === undefined) return undefined;
    end = checkpoint;
    adopted = false;
    if (!isKeyKept) await keepPublicKey(pool, keys);
    isKeyKept = true;
    return checkpoint;
  };
  for await (const page of pagesOf(options.log, end.last)) {
    assertDense(options.log, left.at(-1)?.position ?? end.last, page);
    left = left.length === 0 ? page : [...left, ...page];
    for (; left.length >= EVENTS_MAX; left = left.slice(EVENTS_MAX)) {
      const checkpoint = await add(left.slice(0, EVENTS_MAX));
      if (checkpoint === undefined) return end;
      yield checkpoint;
    }
    if (signal?.aborted === true) return end;
  }
  // An adopted end without new events is signed by an empty checkpoint.
  if (left.length > 0 || adopted) {
    const checkpoint = await add(left);
    if (checkpoint !== undefined) yield checkpoint;
  }
  return end;
}

/** A sealed gap would hide missing events forever: verification would not report it. */
const assertDense = (log: LogBytes, after: Position, page: readonly EventBytes[]): void => {
  let before = after;
  for (const { position, bytes } of page) {
    const expected = log.next(before);
    if (expected !== undefined && position !== expected) {
      const cause = new LogGapError(`after ${before}: expected ${expected}, got ${position}`);
      throw new SealRefusedError('log-gap', `the log has a gap: ${cause.message}`, cause);
    }
    if (bytes === undefined)
      throw new SealRefusedError('unreadable-event', `the row at ${position} is not a valid event`);
    before = position;
  }
};

const seal = async (
  { pool, keys, clock }: SealOptions,
  { chain, format, number, last, hash: before }: ChainEnd,
  events: readonly EventBytes[],
): Promise<Checkpoint | undefined> => {
  const leaves = Buffer.allocUnsafe(LEAF_BYTES * events.length);
  let hash = before;
  for (const [at, { bytes }] of events.entries()) {
    hash = nextHash(hash, bytes as string);
    hash.copy(leaves, LEAF_BYTES * at, 0, LEAF_BYTES);
    if (at % YIELD_EVERY === YIELD_EVERY - 1) await nextTurn();
  }
  const unsigned = {
    chain,
    format,
    number: number + 1,
    after: last,
    last: events.at(-1)?.position ?? last,
    events: events.length,
    hash,
    leaves,
    sealedAtMicros: String(clock.now() * 1_000),
  };
  const checkpoint = { ...unsigned, signature: keys.sign(signedText(unsigned)) };
  return (await insertCheckpoint(pool, checkpoint)) ? checkpoint : undefined;
};

/** For `exchange log verify --expect POSITION=HASH`, to be recorded outside the database. */
export const witnessOf = (checkpoint: Checkpoint) => ({
  chain: checkpoint.chain,
  number: checkpoint.number,
  position: checkpoint.last,
  hash: checkpoint.hash.toString('hex'),
  key: checkpoint.signature?.keyId ?? null,
  sealedAt: sealedAtOf(checkpoint) ?? null,
});
