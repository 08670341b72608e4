import { setImmediate as nextTurn } from 'node:timers/promises';
import { comparePositions, START, type Position } from '../event-store/event-store.ts';
import { askedRange, type Asked, type Range } from './asked-range.ts';
import type { SealOptions } from './chain-end.ts';
import { LEAF_BYTES, nextHash } from './chain.ts';
import {
  checkpointsAfter,
  isSignedBefore,
  sealedAtOf,
  signedText,
  type ChainEnd,
  type Checkpoint,
} from './checkpoints.ts';
import { pagesOf, untilRead, type EventBytes } from './log-bytes.ts';

export interface LogVerification {
  readonly chain: number;
  /** Events that were hashed and compared. */
  readonly events: number;
  /** The first and the last position that were verified; undefined when none was. */
  readonly from: Position | undefined;
  readonly to: Position | undefined;
  readonly checkpoints: number;
  /** Of them, signed with a key that the settings know. */
  readonly signed: number;
  /** When the last of them was sealed, as it says; ISO 8601. */
  readonly sealedAt: string | undefined;
  /** What was written down elsewhere was found: up to there nothing was cut off. */
  readonly witnessed: boolean;
  /** The first thing that does not fit; undefined when all does. */
  readonly broken: Broken | undefined;
  /** What could not be found out; with none of it and nothing broken, everything that was asked for fits. */
  readonly doubts: readonly string[];
}

export interface Broken {
  readonly position: Position;
  readonly problem: string;
}

export interface VerifyOptions extends Omit<SealOptions, 'clock' | 'signal'>, Asked {
  readonly onProgress?: (verified: { readonly events: number; readonly position: Position }) => void;
}

/** What was found out so far. */
interface Run {
  end: ChainEnd;
  /** The last one that was verified. */
  last: Checkpoint | undefined;
  events: number;
  checkpoints: number;
  signed: number;
  first: Position | undefined;
  witnessed: boolean;
  /** A checkpoint was signed, by whomever: from there on all must be. */
  isSigned: boolean;
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
 * that does not fit: what is behind it is not what was sealed either, or cannot be known. Goes on behind the range to the
 * next good signature, where nothing within it vouches for it.
 * @throws NotVerifiableError; any error of the database
 */
export const verifyLog = async (options: VerifyOptions): Promise<LogVerification> => {
  const range = await askedRange(options, options);
  const run: Run = {
    end: range.start,
    last: undefined,
    events: 0,
    checkpoints: 0,
    signed: 0,
    first: undefined,
    witnessed: false,
    isSigned: false,
    unvouched: undefined,
  };
  try {
    await verifyStart(options, run, range);
    await verifyCheckpoints(options, run, range);
    verifyWitness(options, run);
    return resultOf(run, undefined, doubtsOf(options, run, range));
  } catch (error) {
    if (!(error instanceof BrokenError)) throw error;
    return resultOf(run, error.broken, []);
  }
};

const resultOf = (run: Run, broken: Broken | undefined, doubts: readonly string[]): LogVerification => ({
  chain: run.end.chain,
  events: run.events,
  from: run.first,
  to: run.first === undefined ? undefined : run.end.last,
  checkpoints: run.checkpoints,
  signed: run.signed,
  sealedAt: run.last && sealedAtOf(run.last),
  witnessed: run.witnessed,
  broken,
  doubts,
});

const doubtsOf = ({ keys, to }: VerifyOptions, run: Run, { newest }: Range): readonly string[] => {
  const doubts: string[] = [];
  if (run.events === 0) doubts.push('nothing was verified: no event is sealed there');
  if (to !== undefined && comparePositions(run.end.last, to) < 0)
    doubts.push(`what is behind ${newest.last}, up to ${to}, is not sealed`);
  if (run.unvouched !== undefined && keys.canProve) {
    const { number, last } = run.unvouched;
    doubts.push(
      `from checkpoint ${number} (up to ${last}) on it cannot be vouched for: none is signed with a key of the ` +
        'settings, and whoever can write to the database may have made them',
    );
  }
  return doubts;
};

const verifyStart = async (options: VerifyOptions, run: Run, range: Range): Promise<void> => {
  const { anchor, isPredecessorGone, newest } = range;
  if (isPredecessorGone) {
    throw new BrokenError(
      START,
      `chain ${newest.chain - 1}, which chain ${newest.chain} goes on from, was removed`,
    );
  }
  if (anchor === undefined) return;
  run.isSigned = await untilRead(() => isSignedBefore(options.pool, anchor.chain, anchor.number));
  checkSignature(options, run, anchor);
  // Its own events are not asked for.
  run.signed = 0;
  compareWitness(options, run, anchor);
};

const verifyCheckpoints = async (options: VerifyOptions, run: Run, range: Range): Promise<void> => {
  const { newest, to } = range;
  const isDone = (): boolean =>
    run.end.number >= newest.number ||
    (to !== undefined &&
      comparePositions(run.end.last, to) >= 0 &&
      (run.unvouched === undefined || !options.keys.canProve));
  const events = createReader(options, run.end.last);
  try {
    while (!isDone()) {
      const { chain, number } = run.end;
      const checkpoints = await untilRead(() => checkpointsAfter(options.pool, chain, number));
      if (checkpoints.length === 0) throw missing(run.end);
      for (const checkpoint of checkpoints) {
        if (isDone()) return;
        await verifyOne(options, run, checkpoint, events);
        compareWitness(options, run, checkpoint);
        options.onProgress?.({ events: run.events, position: run.end.last });
      }
    }
  } finally {
    await events.close();
  }
};

const missing = ({ number, last }: ChainEnd): BrokenError =>
  new BrokenError(last, `checkpoint ${number + 1} is missing, or was changed`);

const compareWitness = ({ expected }: VerifyOptions, run: Run, { last, hash }: Checkpoint): void => {
  if (expected === undefined || last !== expected.position) return;
  if (hash.toString('hex') !== expected.hash) {
    throw new BrokenError(last, 'the chain has come to another hash here than was written down elsewhere');
  }
  run.witnessed = true;
};

/** However verifying has ended: that it lies within the range is known. */
const verifyWitness = ({ expected }: VerifyOptions, { witnessed }: Run): void => {
  if (expected === undefined || witnessed) return;
  throw new BrokenError(
    expected.position,
    `no checkpoint ends at ${expected.position}, and one did: they, or more, were cut off`,
  );
};

const verifyOne = async (
  options: VerifyOptions,
  run: Run,
  checkpoint: Checkpoint,
  events: Reader,
): Promise<void> => {
  const { end } = run;
  const { number, after, last, leaves } = checkpoint;
  if (number !== end.number + 1 || after !== end.last) throw missing(end);
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
    if (event.bytes === undefined) throw new BrokenError(event.position, 'what is stored here is no event');
    hash = nextHash(hash, event.bytes);
    if (hash.compare(leaves, LEAF_BYTES * at, LEAF_BYTES * (at + 1), 0, LEAF_BYTES) !== 0) {
      throw new BrokenError(event.position, problemAt(end, at));
    }
    before = event.position;
    run.first ??= event.position;
    run.events += 1;
  }
  if (before !== last || !hash.equals(checkpoint.hash)) {
    throw new BrokenError(last, `checkpoint ${number} was changed: its hash is not that of its events`);
  }
  run.checkpoints += 1;
  run.end = run.last = checkpoint;
  await nextTurn();
};

const problemAt = ({ chain, number }: ChainEnd, at: number): string =>
  chain > 1 && number === 0 && at === 0
    ? `the event, or the end of chain ${chain - 1}, is not the one that was sealed here`
    : 'the event is not the one that was sealed here';

const checkSignature = ({ keys }: VerifyOptions, run: Run, checkpoint: Checkpoint): void => {
  const { number, after, last, signature } = checkpoint;
  const found = keys.check(signedText(checkpoint), signature);
  if (found === 'unsigned' && run.isSigned) {
    throw new BrokenError(
      after,
      `checkpoint ${number} (up to ${last}) is not signed with a key of the settings, or any other, and one before it ` +
        'is: whoever can write to the database may have made it',
    );
  }
  run.isSigned ||= found !== 'unsigned';
  switch (found) {
    case 'valid':
      run.signed += 1;
      run.unvouched = undefined;
      return;
    case 'invalid':
      throw new BrokenError(
        after,
        `checkpoint ${number} (up to ${last}) was forged: its signature is not of what it says`,
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
