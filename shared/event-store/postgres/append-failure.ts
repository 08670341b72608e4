import { DatabaseError } from 'pg';
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../event-store.ts';

/** Nothing was written. */
export class BatchRefusedError extends Error {
  override readonly name = 'BatchRefusedError';
}

// SQLSTATE classes after which Postgres rolled back. A statement timeout is definite: Postgres disables it
// before it commits. All others, e.g. a terminated connection, can occur after the commit.
const BATCH_AT_FAULT = /^(22|23|54)/;
const ROLLED_BACK = /^(40(?!003)|42|53|57014|55P03|25006)/;

export const classifyAppendFailure = (
  cause: unknown,
): BatchRefusedError | EventStoreUnavailableError | AppendOutcomeUnknownError => {
  const code = cause instanceof DatabaseError ? (cause.code ?? '') : '';
  if (BATCH_AT_FAULT.test(code)) return new BatchRefusedError(`refused: ${code}`, { cause });
  if (ROLLED_BACK.test(code)) {
    return new EventStoreUnavailableError(`the event log rolled the append back: ${code}`, { cause });
  }
  return new AppendOutcomeUnknownError('the event log did not answer', { cause });
};
