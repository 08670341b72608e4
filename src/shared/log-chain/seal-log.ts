import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pool } from 'pg';
import { backoffMs, sleep } from '../backoff.ts';
import type { Logger } from '../log.ts';
import { LEAF_BYTES, nextHash } from './chain.ts';
import {
  beginning,
  insertCheckpoint,
  lastCheckpoint,
  signedText,
  type ChainEnd,
  type Checkpoint,
} from './checkpoints.ts';
import { pagesOf, type EventBytes, type LogBytes } from './log-bytes.ts';
import { keepPublicKey, type LogKeys } from './log-keys.ts';

export interface SealOptions {
  readonly pool: Pool;
  readonly log: LogBytes;
  readonly keys: LogKeys;
  readonly signal?: AbortSignal;
}

/** Of one checkpoint at most: about 8 KiB of leaves. */
const EVENTS_MAX = 1_000;
/** Events between which others of the process get a turn: about a millisecond. */
const TURN = 250;

/** The chain is one over another log: the events were moved to another store. */
class OtherChainError extends Error {
  override readonly name = 'OtherChainError';
}

/** Where the newest chain ends. @throws OtherChainError */
const chainEnd = async ({ pool, log }: Pick<SealOptions, 'pool' | 'log'>): Promise<ChainEnd> => {
  const last = await lastCheckpoint(pool);
  if (last === undefined) return beginning({ chain: 1, format: log.format });
  if (last.format !== log.format) {
    throw new OtherChainError(
      `chain ${last.chain} is over a log of another store (${last.format}, this is ${log.format}): ` +
        'verify it there, then begin a new one with `exchange log seal --new-chain`',
    );
  }
  return last;
};

/**
 * Writes down what the chain has come to behind everything that is in the log now. Any number of processes may do so at
 * once: of the same checkpoint the first one's counts.
 * @param from default: where the newest chain ends; the beginning of another one begins that
 * @yields each checkpoint that it has written
 */
export async function* sealLog(options: SealOptions, from?: ChainEnd): AsyncGenerator<Checkpoint> {
  const { pool, keys, log, signal } = options;
  await keepPublicKey(pool, keys);
  let end = from ?? (await chainEnd(options));
  let left: readonly EventBytes[] = [];
  for await (const page of pagesOf(log, end.last)) {
    left = left.length === 0 ? page : [...left, ...page];
    // What does not fill a checkpoint goes with the next page, or last.
    for (; left.length >= EVENTS_MAX; left = left.slice(EVENTS_MAX)) {
      const checkpoint = await seal(options, end, left.slice(0, EVENTS_MAX));
      if (checkpoint === undefined) return;
      yield checkpoint;
      end = checkpoint;
    }
    if (signal?.aborted === true) return;
  }
  if (left.length === 0) return;
  const checkpoint = await seal(options, end, left);
  if (checkpoint !== undefined) yield checkpoint;
}

/** @returns undefined when another process has gone on from there */
const seal = async (
  { pool, keys }: SealOptions,
  { chain, format, number, last, hash: before }: ChainEnd,
  events: readonly EventBytes[],
): Promise<Checkpoint | undefined> => {
  const leaves = Buffer.allocUnsafe(LEAF_BYTES * events.length);
  let hash = before;
  for (const [at, { bytes }] of events.entries()) {
    hash = nextHash(hash, bytes);
    hash.copy(leaves, LEAF_BYTES * at, 0, LEAF_BYTES);
    if (at % TURN === TURN - 1) await nextTurn();
  }
  const unsigned = {
    chain,
    format,
    number: number + 1,
    after: last,
    last: (events.at(-1) as EventBytes).position,
    events: events.length,
    hash,
    leaves,
  };
  const checkpoint = { ...unsigned, signature: keys.sign(signedText(unsigned)) };
  return (await insertCheckpoint(pool, checkpoint)) ? checkpoint : undefined;
};

/**
 * Keeps sealing, `everyMs` apart, until `signal`. Each checkpoint goes to the log of the program, too: kept elsewhere, it
 * is a witness that nobody reaches who can write to the database.
 */
export const sealRegularly = (
  options: SealOptions & { readonly signal: AbortSignal },
  everyMs: number,
  log: Logger,
): void => {
  const run = async (): Promise<void> => {
    let failures = 0;
    while (!options.signal.aborted) {
      // At first, too: a process that has just been started has other things to do.
      await sleep(
        failures === 0 ? everyMs : backoffMs(failures, { baseMs: 1_000, capMs: everyMs }),
        options.signal,
      );
      if (options.signal.aborted) return;
      try {
        let last: Checkpoint | undefined;
        for await (const checkpoint of sealLog(options)) last = checkpoint;
        if (last !== undefined) log.info(witnessOf(last), 'log sealed');
        failures = 0;
      } catch (error) {
        failures += 1;
        log.warn({ err: error, failures }, 'the log could not be sealed');
      }
    }
  };
  void run();
};

/** What to keep of a checkpoint elsewhere: `exchange log verify --expect POSITION=HASH`. */
export const witnessOf = ({ chain, number, last, hash, signature }: Checkpoint) => ({
  chain,
  number,
  position: last,
  hash: hash.toString('hex'),
  key: signature?.keyId ?? null,
});
