import type { Pool } from 'pg';
import { comparePositions, START, type Position } from '../event-store/event-store.ts';
import {
  beginning,
  checkpointBefore,
  lastCheckpoint,
  sealedUpTo,
  type ChainEnd,
  type Checkpoint,
} from './checkpoints.ts';
import { untilRead, type LogBytes } from './log-bytes.ts';

/** What a witness outside of the database says. */
export interface ExpectedHash {
  readonly position: Position;
  /** In hexadecimal digits. */
  readonly hash: string;
}

export interface Asked {
  /** Default: the newest one. */
  readonly chain?: number | undefined;
  /** First position that is asked for; default: the first of the chain. What is sealed together is verified together. */
  readonly from?: Position | undefined;
  /** Last position; default: the last that is sealed. */
  readonly to?: Position | undefined;
  readonly expected?: ExpectedHash | undefined;
}

/** Cannot be found out: there is nothing to verify, or the words make no sense. */
class NotVerifiableError extends Error {
  override readonly name = 'NotVerifiableError';
}

/** What is asked for, as the chain has it. */
export interface Range {
  /** Where verifying begins: what the chain had come to there. */
  readonly start: ChainEnd;
  /** The same, where it is a checkpoint. */
  readonly anchor: Checkpoint | undefined;
  /** The end of the chain that this one goes on from, which is gone: only then. */
  readonly isPredecessorGone: boolean;
  readonly to: Position | undefined;
  /** Where the chain ended when verifying began. What is sealed meanwhile is not asked for. */
  readonly newest: Checkpoint;
}

/** @throws NotVerifiableError */
export const askedRange = async (
  { pool, log }: { readonly pool: Pool; readonly log: LogBytes },
  asked: Asked,
): Promise<Range> => {
  assertWords(log, asked);
  const { from, to } = asked;
  const newest = await untilRead(() => lastCheckpoint(pool, asked.chain));
  if (newest === undefined) {
    throw new NotVerifiableError(
      asked.chain === undefined
        ? 'nothing is sealed yet: `exchange log seal` begins'
        : `there is no chain ${asked.chain}`,
    );
  }
  const { chain, format, last } = newest;
  if (format !== log.format)
    throw new NotVerifiableError(`chain ${chain} is over a log of another store (${format})`);
  if (from !== undefined && comparePositions(from, last) > 0)
    throw new NotVerifiableError(`nothing is sealed at ${from} or behind it: chain ${chain} ends at ${last}`);
  const anchor = from === undefined ? undefined : await untilRead(() => checkpointBefore(pool, chain, from));
  const start = anchor?.last ?? START;
  const end = to === undefined ? undefined : ((await untilRead(() => sealedUpTo(pool, chain, to))) ?? to);
  assertExpectedWithin(asked.expected, start, end);
  if (anchor !== undefined) return { start: anchor, anchor, isPredecessorGone: false, to, newest };
  const previous = chain === 1 ? undefined : await untilRead(() => lastCheckpoint(pool, chain - 1));
  return {
    start: beginning({ chain, format }, previous),
    anchor,
    isPredecessorGone: chain > 1 && previous === undefined,
    to,
    newest,
  };
};

const assertWords = (log: LogBytes, { from, to, expected }: Asked): void => {
  const words = { '--from': from, '--to': to, '--expect': expected?.position };
  for (const [name, position] of Object.entries(words)) {
    if (position !== undefined && !log.isPosition(position))
      throw new NotVerifiableError(`${name}: ${JSON.stringify(position)} is no position of this log`);
  }
  if (from !== undefined && to !== undefined && comparePositions(from, to) > 0)
    throw new NotVerifiableError(`--from ${from} is behind --to ${to}`);
};

/** @param end of what is sealed with `to`; undefined: the chain's */
const assertExpectedWithin = (
  expected: ExpectedHash | undefined,
  start: Position,
  end: Position | undefined,
): void => {
  if (expected === undefined) return;
  const { position } = expected;
  const isBefore = comparePositions(position, start) < 0;
  if (!isBefore && (end === undefined || comparePositions(position, end) <= 0)) return;
  throw new NotVerifiableError(
    `--expect ${position} is outside of what --from and --to ask for (${start} to ${end ?? 'the end'})`,
  );
};
