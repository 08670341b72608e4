import { Client, DatabaseError } from 'pg';
import { isPostgresUnavailable } from './postgres-unavailable.ts';

/** A later attempt may succeed. */
export class UnreachableDatabaseError extends Error {
  override readonly name = 'UnreachableDatabaseError';
}

/** Postgres refuses the user, the password or the database: a retry would fail, too. */
export class RefusedLoginError extends Error {
  override readonly name = 'RefusedLoginError';
}

/** Returns any other error as it is. */
export const connectionProblem = (error: unknown, connectionString: string): unknown => {
  const { database = '', user = '' } = new Client({ connectionString });
  const postgres = `Postgres at ${databaseAddress(connectionString)}`;
  const refused = (what: string): RefusedLoginError =>
    new RefusedLoginError(`${postgres} ${what}: correct DATABASE_URL.`, { cause: error });
  const code = error instanceof DatabaseError ? error.code : undefined;
  if (code === '28P01') return refused(`refuses the password of the user "${user}"`);
  if (code === '28000') return refused(`refuses the user "${user}" (${messageOf(error)})`);
  if (code === '3D000') return refused(`has no database "${database}"`);
  if (messageOf(error).includes('client password must be a string')) {
    return refused(`asks for a password of the user "${user}"`);
  }
  if (!isPostgresUnavailable(error)) return error;
  return new UnreachableDatabaseError(`Cannot reach ${postgres}: ${reasonOf(error)}.`, {
    cause: error,
  });
};

/** Never the user or the password. */
export const databaseAddress = (connectionString: string): string => {
  const { host, port, database = '' } = new Client({ connectionString });
  return `${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
};

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'the host name cannot be looked up',
  ENOENT: 'no such socket',
  ETIMEDOUT: 'no answer',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
};

const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/timeout/i.test(messageOf(error))) return 'no answer';
  return REASONS[code] ?? messageOf(error);
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
