import { START as LOG_START, type Position as LogPosition } from '@eventstore/db-client';
import { START, type Position } from '../event-store.ts';

/** 2^64 - 1 has 20 digits. */
const WIDTH = 20;
const SHAPE = /^(\d{20})\.(\d{20})$/;
/** The server's value for "no position" (TCP transactions in stream reads). */
const NONE = 2n ** 64n - 1n;

/** Commit and prepare position, in bytes of the log: text order is log order. @throws RangeError */
export const printPosition = (position: LogPosition | undefined): Position => {
  if (position === undefined || position.commit === NONE) {
    throw new RangeError('EventStoreDB returned an event without a position');
  }
  const commit = printed(position.commit);
  // Equal for every event appended over gRPC.
  const prepare = position.prepare === position.commit ? commit : printed(position.prepare);
  return `${commit}.${prepare}` as Position;
};

const printed = (part: bigint): string => String(part).padStart(WIDTH, '0');

/** @throws RangeError */
export const parsePosition = (position: Position): LogPosition | typeof LOG_START => {
  if (position === START) return LOG_START;
  const [, commit, prepare] = SHAPE.exec(position) ?? [];
  if (commit === undefined || prepare === undefined) {
    throw new RangeError(`not a position of EventStoreDB: ${JSON.stringify(position)}`);
  }
  return { commit: BigInt(commit), prepare: BigInt(prepare) };
};

export const bytesBetween = (from: Position, to: Position): number => Number(offsetOf(to) - offsetOf(from));

const offsetOf = (position: Position): bigint => {
  const parsed = parsePosition(position);
  return typeof parsed === 'string' ? 0n : parsed.commit;
};
