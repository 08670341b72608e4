import type { AppendRequest } from '../append-request.ts';
import { AppendOutcomeUnknownError, type AppendResult, type Position } from '../event-store.ts';
import { within } from './connection.ts';
import { describeFailure } from './failure.ts';
import { printPosition } from './log-position.ts';
import type { LogReader } from './log-reader.ts';
import { attemptOf } from './stored-event.ts';

/** Called after every successful append, also a repeat, and before its caller receives the answer. */
export type OnAppended = (customerId: number, position: Position, stream: string) => Promise<void>;

export interface AcceptedAppend {
  readonly request: AppendRequest;
  readonly attempt: string;
  readonly revision: number;
  readonly position: Position | undefined;
  readonly mayBeRepeat: () => Promise<boolean>;
  readonly endMs: number;
}

/** The append is in the log: after a failure the caller must repeat it. @throws AppendOutcomeUnknownError */
export const confirmAppend = async (
  reader: Pick<LogReader, 'readStored'>,
  onAppended: OnAppended,
  { request, attempt, revision, position, mayBeRepeat, endMs }: AcceptedAppend,
): Promise<AppendResult> => {
  const { customerId, stream } = request;
  const confirm = async (): Promise<AppendResult> => {
    if (position === undefined) {
      const found = await readBack(reader, request, revision, attempt);
      await onAppended(customerId, found.position, stream);
      return found;
    }
    const [, found] = await Promise.all([
      onAppended(customerId, position, stream),
      mayBeRepeat().then((isPossible) =>
        isPossible ? readBack(reader, request, revision, attempt) : { revision, position, repeated: false },
      ),
    ]);
    return found;
  };
  try {
    return await within(confirm(), endMs - performance.now());
  } catch (cause) {
    throw new AppendOutcomeUnknownError(`appended, but not confirmed: ${describeFailure(cause)}`, { cause });
  }
};

const readBack = async (
  reader: Pick<LogReader, 'readStored'>,
  { stream, events }: AppendRequest,
  revision: number,
  attempt: string,
): Promise<AppendResult> => {
  const [stored] = await reader.readStored(stream, { from: revision, count: 1 });
  if (stored?.event?.id !== events.at(-1)?.id || stored === undefined) {
    throw new Error(`${stream}@${revision} is not the appended event`);
  }
  return {
    revision,
    position: printPosition(stored.event?.position),
    repeated: attemptOf(stored) !== attempt,
  };
};
