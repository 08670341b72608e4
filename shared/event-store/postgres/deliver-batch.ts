import { EventStoreUnavailableError, type AppendResult } from '../event-store.ts';
import { BatchRefusedError } from './append-failure.ts';
import type { AppendConnection } from './append-connection.ts';
import type { PendingAppend } from './append-queue.ts';

/** Never rejects. @returns the result with the highest new position, if any */
export const deliverBatch = async (
  connection: AppendConnection,
  batch: readonly PendingAppend[],
): Promise<AppendResult | undefined> => {
  try {
    return settleAll(batch, await connection.run(batch.map((append) => append.request)));
  } catch (error) {
    if (error instanceof BatchRefusedError) return await settleRefused(connection, batch, error);
    for (const append of batch) append.settle(error as Error);
    return undefined;
  }
};

const settleAll = (
  batch: readonly PendingAppend[],
  answers: readonly (AppendResult | Error)[],
): AppendResult | undefined => {
  let last: AppendResult | undefined;
  batch.forEach((append, index) => {
    const answer = answers[index] as AppendResult | Error;
    append.settle(answer);
    if (!(answer instanceof Error) && !answer.repeated) last = answer;
  });
  return last;
};

/** One invalid append must not fail the others. */
const settleRefused = async (
  connection: AppendConnection,
  batch: readonly PendingAppend[],
  cause: BatchRefusedError,
): Promise<AppendResult | undefined> => {
  if (batch.length === 1) {
    batch[0]?.settle(new EventStoreUnavailableError('the event log refused the append', { cause }));
    return undefined;
  }
  let last: AppendResult | undefined;
  for (const append of batch) last = (await deliverBatch(connection, [append])) ?? last;
  return last;
};
