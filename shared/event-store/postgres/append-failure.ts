import { DatabaseError } from 'pg';
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../event-store.ts';

/** Something in the batch made Postgres refuse all of it. Definite: nothing was written. */
export class BatchRefusedError extends Error {
  override readonly name = 'BatchRefusedError';
}

/**
 * Classes of SQLSTATE with which Postgres rolled the statement back: data, constraint, program limit (the batch
 * itself is at fault); transaction rollback, resources, privileges or missing schema; and single codes: lock and
 * statement timeout, read-only server. A statement timeout is definite because Postgres switches it off before
 * it commits. Everything else may have come after the commit (a termination) and is unknown.
 */
const BATCH_AT_FAULT = /^(22|23|54)/;
const ROLLED_BACK = /^(40(?!003)|42|53|57014|55P03|25006)/;

/** What a failure of a statement that was sent means for its callers. */
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
