import type { ResolvedEvent } from '@eventstore/db-client';
import type { AppendRequest } from '../append-request.ts';
import { AppendOutcomeUnknownError, type AppendResult, type Position } from '../event-store.ts';
import { within } from './connection.ts';
import { describeFailure } from './failure.ts';
import { printPosition } from './log-position.ts';
import type { LogReader } from './log-reader.ts';
import { attemptOf } from './stored-event.ts';

/** Called after every append that is in the log, repeated ones included, and before its caller gets the answer. */
export type OnAppended = (customerId: number, position: Position, stream: string) => Promise<void>;

/** An append that is in the log, and where. */
export interface InLog {
  readonly request: AppendRequest;
  /** This call of `append`, as `toEventData` wrote it. */
  readonly attempt: string;
  readonly revision: number;
  /** Undefined when the server did not say. */
  readonly position: Position | undefined;
  /** `performance.now()` by which there must be an answer. */
  readonly endMs: number;
}

/**
 * Marks the account and finds out whose events they are, at the same time. Once an append is in the log, every
 * failure leaves its caller without a complete answer: it is to repeat.
 * @throws AppendOutcomeUnknownError
 */
export const confirmAppend = async (
  reader: Pick<LogReader, 'readStored'>,
  onAppended: OnAppended,
  inLog: InLog,
): Promise<AppendResult> => {
  const { request, attempt, revision, position, endMs } = inLog;
  const reading = readLast(reader, request, revision);
  const marking = async (): Promise<void> =>
    onAppended(
      request.customerId,
      position ?? printPosition((await reading).event?.position),
      request.stream,
    );
  try {
    const [stored] = await within(Promise.all([reading, marking()]), endMs - performance.now());
    return {
      revision,
      position: printPosition(stored.event?.position),
      repeated: attemptOf(stored) !== attempt,
    };
  } catch (cause) {
    throw new AppendOutcomeUnknownError(`appended, but not confirmed: ${describeFailure(cause)}`, { cause });
  }
};

const readLast = async (
  reader: Pick<LogReader, 'readStored'>,
  { stream, events }: AppendRequest,
  revision: number,
): Promise<ResolvedEvent> => {
  const [stored] = await reader.readStored(stream, { from: revision, count: 1 });
  if (stored?.event?.id !== events.at(-1)?.id || stored === undefined) {
    throw new Error(`${stream}@${revision} is not what was appended`);
  }
  return stored;
};
