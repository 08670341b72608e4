import { setImmediate as nextTurn } from 'node:timers/promises';
import { comparePositions, START, type Position } from '../event-store/event-store.ts';
import { LEAF_BYTES, nextHash } from './chain.ts';
import {
  beginning,
  checkpointsAfter,
  lastCheckpoint,
  signedText,
  type ChainEnd,
  type Checkpoint,
} from './checkpoints.ts';
import { pagesOf, type EventBytes } from './log-bytes.ts';
import type { SealOptions } from './seal-log.ts';

export interface LogVerification {
  /** Events that were hashed and compared. */
  readonly events: number;
  /** The first and the last position that were verified; undefined when none was. */
  readonly from: Position | undefined;
  readonly to: Position | undefined;
  readonly checkpoints: number;
  /** Of them, signed with a key that the settings know. */
  readonly signed: number;
  /** The first thing that does not fit; undefined when all does. */
  readonly broken: Broken | undefined;
}

export interface Broken {
  readonly position: Position;
  readonly problem: string;
}

/** What a witness outside of the database says. */
export interface ExpectedHash {
  readonly position: Position;
  /** In hexadecimal digits. */
  readonly hash: string;
}

export interface VerifyOptions extends Omit<SealOptions, 'signal'> {
  /** First position that is asked for; default: the first of the chain. What is sealed together is verified together. */
  readonly from?: Position | undefined;
  /** Last position; default: the last that is sealed. */
  readonly to?: Position | undefined;
  readonly expected?: ExpectedHash | undefined;
  readonly onProgress?: (verified: { readonly events: number; readonly position: Position }) => void;
}

/** There is no chain yet. */
class NoChainError extends Error {
  override readonly name = 'NoChainError';
}

/** What was found out so far. */
interface Run {
  events: number;
  checkpoints: number;
  signed: number;
  first: Position | undefined;
  /** Checkpoints that a signature behind them has yet to vouch for: each holds the hash of all before it. */
  unvouched: Checkpoint | undefined;
}

class BrokenError extends Error {
  readonly broken: Broken;

  constructor(position: Position, problem: string) {
    super(problem);
    this.broken = { position, problem };
  }
}

/**
 * Hashes the log anew and compares it with what was sealed, a page of each in memory at a time. Ends at the first thing
 * that does not fit: what is behind it is not what was sealed either, or cannot be known.
 * @throws NoChainError; any error of the database
 */
export const verifyLog = async (options: VerifyOptions): Promise<LogVerification> => {
  const { pool, log, to } = options;
  const newest = await lastCheckpoint(pool);
  if (newest === undefined) throw new NoChainError('nothing is sealed yet: `exchange log seal` begins');
  const { chain, format } = newest;
  if (format !== log.format)
    throw new NoChainError(`chain ${chain} is over a log of another store (${format})`);
  const run: Run = { events: 0, checkpoints: 0, signed: 0, first: undefined, unvouched: undefined };
  let end: ChainEnd = beginning({ chain, format });
  try {
    const anchor = options.from === undefined ? undefined : await lastCheckpoint(pool, options.from);
    if (anchor !== undefined) {
      checkSignature(options, run, anchor);
      if (run.unvouched !== undefined && options.keys.canProve) throw notSigned(anchor);
      run.unvouched = undefined;
      end = anchor;
    }
    end = await verifyCheckpoints(options, run, end, to ?? newest.last);
    if (run.unvouched !== undefined && options.keys.canProve) throw notSigned(run.unvouched);
    return resultOf(run, end, undefined);
  } catch (error) {
    if (!(error instanceof BrokenError)) throw error;
    return resultOf(run, end, error.broken);
  }
};

const resultOf = (run: Run, { last }: ChainEnd, broken: Broken | undefined): LogVerification => ({
  events: run.events,
  from: run.first,
  to: run.first === undefined || last === START ? undefined : last,
  checkpoints: run.checkpoints,
  signed: run.signed,
  broken,
});

const notSigned = ({ number, last }: Checkpoint): BrokenError =>
  new BrokenError(
    last,
    `checkpoint ${number} is not signed with a key of the settings, and none behind it is: whoever can write to the ` +
      'database may have made it',
  );

const verifyCheckpoints = async (
  options: VerifyOptions,
  run: Run,
  from: ChainEnd,
  to: Position,
): Promise<ChainEnd> => {
  const { expected, onProgress } = options;
  const events = createReader(options, from.last);
  let end = from;
  let isExpectedSeen = expected === undefined;
  try {
    let checkpoints = await checkpointsAfter(options.pool, end.chain, end.number);
    while (checkpoints.length > 0) {
      for (const checkpoint of checkpoints) {
        if (comparePositions(end.last, to) >= 0) return end;
        await verifyOne(options, run, end, checkpoint, events);
        isExpectedSeen ||= isAsExpected(expected, checkpoint);
        end = checkpoint;
        onProgress?.({ events: run.events, position: end.last });
      }
      checkpoints = await checkpointsAfter(options.pool, end.chain, end.number);
    }
  } finally {
    await events.close();
  }
  if (!isExpectedSeen && expected !== undefined) {
    throw new BrokenError(
      expected.position,
      `no checkpoint ends at ${expected.position}, and one did: they, or more, were cut off`,
    );
  }
  return end;
};

const isAsExpected = (expected: ExpectedHash | undefined, { last, hash }: Checkpoint): boolean => {
  if (expected === undefined || last !== expected.position) return false;
  if (hash.toString('hex') !== expected.hash) {
    throw new BrokenError(last, 'the chain has come to another hash here than was written down elsewhere');
  }
  return true;
};

const verifyOne = async (
  options: VerifyOptions,
  run: Run,
  end: ChainEnd,
  checkpoint: Checkpoint,
  events: Reader,
): Promise<void> => {
  const { number, after, last, leaves } = checkpoint;
  if (number !== end.number + 1 || after !== end.last) {
    throw new BrokenError(end.last, `checkpoint ${end.number + 1} is missing, or was changed`);
  }
  if (leaves.length !== LEAF_BYTES * checkpoint.events) {
    throw new BrokenError(after, `checkpoint ${number} was changed: it is not whole`);
  }
  checkSignature(options, run, checkpoint);
  let { hash } = end;
  let before = after;
  for (let at = 0; at < checkpoint.events; at += 1) {
    const expected = options.log.next(before);
    const event = events.take() ?? (await events.takeNext());
    if (event === undefined) {
      throw new BrokenError(expected ?? before, `the log ends at ${before}, and was sealed up to ${last}`);
    }
    if (expected !== undefined && event.position !== expected) {
      throw new BrokenError(expected, 'the event is missing');
    }
    hash = nextHash(hash, event.bytes);
    if (hash.compare(leaves, LEAF_BYTES * at, LEAF_BYTES * (at + 1), 0, LEAF_BYTES) !== 0) {
      throw new BrokenError(event.position, 'the event is not the one that was sealed here');
    }
    before = event.position;
    run.first ??= event.position;
    run.events += 1;
  }
  if (before !== last || !hash.equals(checkpoint.hash)) {
    throw new BrokenError(last, `checkpoint ${number} was changed: its hash is not that of its events`);
  }
  run.checkpoints += 1;
  await nextTurn();
};

const checkSignature = ({ keys }: VerifyOptions, run: Run, checkpoint: Checkpoint): void => {
  const found = keys.check(signedText(checkpoint), checkpoint.signature);
  switch (found) {
    case 'valid':
      run.signed += 1;
      run.unvouched = undefined;
      return;
    case 'invalid':
      throw new BrokenError(
        checkpoint.after,
        `checkpoint ${checkpoint.number} (up to ${checkpoint.last}) was forged: its signature is not of what it says`,
      );
    case 'unsigned':
    case 'unknown':
      run.unvouched ??= checkpoint;
      return;
    default:
      found satisfies never;
  }
};

interface Reader {
  /** The next event of the page that is there. */
  take(): EventBytes | undefined;
  /** The first one of the next page; undefined at the end of the log. */
  takeNext(): Promise<EventBytes | undefined>;
  close(): Promise<void>;
}

/** Event by event; only between two pages is anything waited for. */
const createReader = ({ log }: VerifyOptions, after: Position): Reader => {
  const pages = pagesOf(log, after);
  let page: readonly EventBytes[] = [];
  let at = 0;
  const take = (): EventBytes | undefined => {
    at += 1;
    return page[at - 1];
  };
  return {
    take,
    takeNext: async () => {
      page = (await pages.next()).value ?? [];
      at = 0;
      return take();
    },
    close: async () => void (await pages.return(undefined)),
  };
};
