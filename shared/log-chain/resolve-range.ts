import type { Pool } from 'pg';
import { comparePositions, START, type Position } from '../event-store/event-store.ts';
import {
  chainStart,
  checkpointBefore,
  lastCheckpoint,
  sealedUpTo,
  type ChainEnd,
  type Checkpoint,
} from './checkpoints.ts';
import { readWithRetries, type LogBytes } from './log-bytes.ts';

/** Recorded outside the database. */
export interface ExpectedHash {
  readonly position: Position;
  readonly hash: string;
}

export interface RangeQuery {
  readonly chain?: number | undefined;
  /** Inclusive; its whole checkpoint is verified. */
  readonly from?: Position | undefined;
  readonly to?: Position | undefined;
  readonly expected?: ExpectedHash | undefined;
}

class NotVerifiableError extends Error {
  override readonly name = 'NotVerifiableError';
}

export interface Range {
  readonly start: ChainEnd;
  readonly anchor: Checkpoint | undefined;
  readonly isPredecessorGone: boolean;
  readonly to: Position | undefined;
  /** Later checkpoints are ignored. */
  readonly newest: Checkpoint;
}

/** @throws NotVerifiableError */
export const resolveRange = async (
  { pool, log }: { readonly pool: Pool; readonly log: LogBytes },
  query: RangeQuery,
): Promise<Range> => {
  assertPositions(log, query);
  const { from, to } = query;
  const newest = await readWithRetries(() => lastCheckpoint(pool, query.chain));
  if (newest === undefined) {
    throw new NotVerifiableError(
      query.chain === undefined
        ? 'nothing is sealed yet: run `exchange log seal`'
        : `there is no chain ${query.chain}`,
    );
  }
  const { chain, format, last } = newest;
  if (format !== log.format)
    throw new NotVerifiableError(`chain ${chain} belongs to the log of another store (${format})`);
  if (from !== undefined && comparePositions(from, last) > 0)
    throw new NotVerifiableError(`nothing is sealed at ${from} or after it: chain ${chain} ends at ${last}`);
  const anchor =
    from === undefined ? undefined : await readWithRetries(() => checkpointBefore(pool, chain, from));
  const start = anchor?.last ?? START;
  const end =
    to === undefined ? undefined : ((await readWithRetries(() => sealedUpTo(pool, chain, to))) ?? to);
  assertExpectedWithin(query.expected, start, end);
  if (anchor !== undefined) return { start: anchor, anchor, isPredecessorGone: false, to, newest };
  const previous = chain === 1 ? undefined : await readWithRetries(() => lastCheckpoint(pool, chain - 1));
  return {
    start: chainStart({ chain, format }, previous),
    anchor,
    isPredecessorGone: chain > 1 && previous === undefined,
    to,
    newest,
  };
};

const assertPositions = (log: LogBytes, { from, to, expected }: RangeQuery): void => {
  const positions = { '--from': from, '--to': to, '--expect': expected?.position };
  for (const [name, position] of Object.entries(positions)) {
    if (position !== undefined && !log.isPosition(position))
      throw new NotVerifiableError(`${name}: ${JSON.stringify(position)} is not a position of this log`);
  }
  if (from !== undefined && to !== undefined && comparePositions(from, to) > 0)
    throw new NotVerifiableError(`--from ${from} is after --to ${to}`);
};

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
    `--expect ${position} is outside the range of --from and --to (${start} to ${end ?? 'the end'})`,
  );
};
