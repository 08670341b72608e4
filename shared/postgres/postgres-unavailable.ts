import { DatabaseError } from 'pg';

/** Caused by the server's state: connection, resources, shutdown, timeout, system error; and lock timeout. */
const SERVER_STATE = /^(08|53|57|58|55P03)/;

const SOCKET_CODE =
  /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ENOENT|EACCES|EMFILE)/;
const PG_MESSAGE =
  /connection terminated|connection ended|timeout exceeded when trying to connect|read timeout|client was closed|pool after calling end|not queryable/i;

/** The statement may have been executed. */
export const isPostgresUnavailable = (error: unknown): boolean => {
  if (error instanceof DatabaseError) return SERVER_STATE.test(error.code ?? '');
  if (error instanceof AggregateError) return error.errors.some(isPostgresUnavailable);
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return SOCKET_CODE.test(code) || PG_MESSAGE.test(error.message);
};
