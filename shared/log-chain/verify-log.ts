import { setImmediate as nextTurn } from 'node:timers/promises';
import { comparePositions, START, type Position } from '../event-store/event-store.ts';
import { resolveRange, type RangeQuery, type Range } from './resolve-range.ts';
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
import { pagesOf, readWithRetries, type EventBytes } from './log-bytes.ts';

export interface LogVerification {
  readonly chain: number;
  readonly events: number;
  readonly from: Position | undefined;
  readonly to: Position | undefined;
  readonly checkpoints: number;
  readonly signed: number;
  readonly sealedAt: string | undefined;
  /** The expected hash was found, so no events up to it were cut off. */
  readonly witnessed: boolean;
  readonly broken: Mismatch | undefined;
  /** If empty and `broken` is undefined, the whole requested range is verified. */
  readonly doubts: readonly string[];
}

export interface Mismatch {
  readonly position: Position;
  readonly problem: string;
}

export interface VerifyOptions extends Omit<SealOptions, 'clock' | 'signal'>, RangeQuery {
  readonly onProgress?: (verified: { readonly events: number; readonly position: Position }) => void;
}

interface Run {
  end: ChainEnd;
  last: Checkpoint | undefined;
  events: number;
  checkpoints: number;
  signed: number;
  first: Position | undefined;
  witnessed: boolean;
  /** A checkpoint had a signature, so every later checkpoint must have one. */
  isSigned: boolean;
  /** First checkpoint without a later valid signature, which would vouch for all checkpoints before it. */
  unvouched: Checkpoint | undefined;
}

class BrokenError extends Error {
  readonly broken: Mismatch;

  constructor(position: Position, problem: string) {
    super(problem);
    this.broken = { position, problem };
  }
}

/**
 * Stops at the first mismatch: later hashes cannot match. If no valid signature covers the end of the range,
 * it continues to the next one. @throws NotVerifiableError
 */
export const verifyLog = async (options: VerifyOptions): Promise<LogVerification> => {
  const range = await resolveRange(options, options);
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

const resultOf = (run: Run, broken: Mismatch | undefined, doubts: readonly string[]): LogVerification => ({
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
  if (run.events === 0) doubts.push('nothing was verified: no event in this range is sealed');
  if (to !== undefined && comparePositions(run.end.last, to) < 0)
    doubts.push(`events after ${newest.last}, up to ${to}, are not sealed`);
  if (run.unvouched !== undefined && keys.canProve) {
    const { number, last } = run.unvouched;
    doubts.push(
      `checkpoints from ${number} (up to ${last}) on are not proven: none is signed with a key of the ` +
        'settings, so a person with write access to the database may have made them',
    );
  }
  return doubts;
};

const verifyStart = async (options: VerifyOptions, run: Run, range: Range): Promise<void> => {
  const { anchor, isPredecessorGone, newest } = range;
  if (isPredecessorGone) {
    throw new BrokenError(
      START,
      `chain ${newest.chain - 1}, which chain ${newest.chain} continues, was removed`,
    );
  }
  if (anchor === undefined) return;
  run.isSigned = await readWithRetries(() => isSignedBefore(options.pool, anchor.chain, anchor.number));
  checkSignature(options, run, anchor);
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
      const checkpoints = await readWithRetries(() => checkpointsAfter(options.pool, chain, number));
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
    throw new BrokenError(last, 'the chain has another hash here than the expected one');
  }
  run.witnessed = true;
};

/** `resolveRange` has checked that the expected position is within the range. */
const verifyWitness = ({ expected }: VerifyOptions, { witnessed }: Run): void => {
  if (expected === undefined || witnessed) return;
  throw new BrokenError(
    expected.position,
    `no checkpoint ends at ${expected.position}, but one did when this hash was recorded: checkpoints were removed`,
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
    throw new BrokenError(after, `checkpoint ${number} was changed: it is incomplete`);
  }
  checkSignature(options, run, checkpoint);
  let { hash } = end;
  let before = after;
  for (let at = 0; at < checkpoint.events; at += 1) {
    const expected = options.log.next(before);
    const event = events.take() ?? (await events.takeNext());
    if (event === undefined) {
      throw new BrokenError(expected ?? before, `the log ends at ${before}, but was sealed up to ${last}`);
    }
    if (expected !== undefined && event.position !== expected) {
      throw new BrokenError(expected, 'the event is missing');
    }
    if (event.bytes === undefined)
      throw new BrokenError(event.position, 'the stored row is not a valid event');
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
      `checkpoint ${number} (up to ${last}) has no signature, but an earlier checkpoint has one: ` +
        'a person with write access to the database may have made it',
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
        `checkpoint ${number} (up to ${last}) was forged: its signature does not match its content`,
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
  take(): EventBytes | undefined;
  takeNext(): Promise<EventBytes | undefined>;
  close(): Promise<void>;
}

/** An await for each event would be slow. */
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
