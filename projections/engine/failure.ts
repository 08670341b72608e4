import { DatabaseError } from 'pg';
import { UnprojectableEventError } from './projection.ts';

const ERROR_CHARS_MAX = 500;

/**
 * SQLSTATE classes that the values of an event can cause: cardinality, data exception, constraint violation,
 * check option, program limit exceeded (nesting, index entry), an exception raised in SQL code. Everything
 * else is the state of the server (08, 40, 53, 57, 58), of the connection, or of the installation (42: a
 * missing table or permission): the same event succeeds once that is mended, so nothing may be parked for it.
 */
const CAUSED_BY_DATA = new Set(['21', '22', '23', '44', '54', 'P0']);

/**
 * Errors of sockets, Node's own of them too, and of `pg` itself; the latter carry neither a class nor a code. Other codes
 * of Node (`ERR_INVALID_ARG_TYPE`) are of what code made of a value.
 */
const SYSTEM_CODE = /^(E(?!RR_)[A-Z_]+|ERR_(STREAM|SOCKET|SSL|TLS)_[A-Z_]+)$/;
const PG_CONNECTION =
  /connection terminated|connection ended|connection error|timeout exceeded when trying to connect|read timeout|client was closed|pool after calling end|not queryable/i;

/**
 * True when the event itself cannot be applied, so that trying for ever would stop the read model; false for
 * what passes or must be mended elsewhere. What is neither known to be the one nor the other is the event's
 * fault: the code that applies it threw, and it will throw again.
 */
export const isFaultOfEvent = (error: unknown): boolean => {
  if (error instanceof UnprojectableEventError) return true;
  if (error instanceof DatabaseError) return CAUSED_BY_DATA.has(error.code?.slice(0, 2) ?? '');
  if (!(error instanceof Error)) return true;
  const code = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' && SYSTEM_CODE.test(code)) return false;
  return !PG_CONNECTION.test(error.message);
};

/** For people: at most 500 characters, without what a text column refuses (U+0000). */
export const errorText = (error: unknown): string => {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replaceAll('\0', ' ').slice(0, ERROR_CHARS_MAX);
};
