import { DatabaseError } from 'pg';
import { UnprojectableEventError } from './projection.ts';

const ERROR_CHARS_MAX = 500;

/**
 * SQLSTATE classes that an event's values can cause: cardinality, data, constraint, check option, program
 * limit (nesting, index entry), an exception in SQL code. Others are problems of the server (08, 40, 53, 57,
 * 58) or the installation (42): after their repair the event succeeds, so they must not park a stream.
 */
const CAUSED_BY_DATA = new Set(['21', '22', '23', '44', '54', 'P0']);

/** Errors of sockets and `pg` without class or code. Other Node.js codes come from handling a value. */
const SYSTEM_CODE = /^(E(?!RR_)[A-Z_]+|ERR_(STREAM|SOCKET|SSL|TLS)_[A-Z_]+)$/;
const PG_CONNECTION =
  /connection terminated|connection ended|connection error|timeout exceeded when trying to connect|read timeout|client was closed|pool after calling end|not queryable/i;

/**
 * False for errors that pass or need repair elsewhere. Unknown errors count as the event's fault: the code
 * that applies it threw, and would throw again.
 */
export const isFaultOfEvent = (error: unknown): boolean => {
  if (error instanceof UnprojectableEventError) return true;
  if (error instanceof DatabaseError) return CAUSED_BY_DATA.has(error.code?.slice(0, 2) ?? '');
  if (!(error instanceof Error)) return true;
  const code = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' && SYSTEM_CODE.test(code)) return false;
  return !PG_CONNECTION.test(error.message);
};

/** At most 500 characters, without U+0000, which text columns refuse. */
export const errorText = (error: unknown): string => {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replaceAll('\0', ' ').slice(0, ERROR_CHARS_MAX);
};
