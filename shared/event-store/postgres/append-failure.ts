import { DatabaseError } from 'pg';
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../event-store.ts';

/** Postgres rejected the whole batch because of its content. Nothing was written. */
export class BatchRefusedError extends Error {
  override readonly name = 'BatchRefusedError';
}

/**
 * SQLSTATE classes after which Postgres rolled the statement back. The batch is at fault: data, constraint, program
 * limit. Rolled back for other reasons: transaction rollback, resources, privileges or missing schema, lock or
 * statement timeout, read-only server. A statement timeout is definite, because Postgres disables it before it commits.
 * For all other errors, e.g. a terminated connection, the outcome is unknown: they can occur after the commit.
 */
const BATCH_AT_FAULT = /^(22|23|54)/;
const ROLLED_BACK = /^(40(?!003)|42|53|57014|55P03|25006)/;

/** Maps the failure of a sent statement to the error that its callers receive. */
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
