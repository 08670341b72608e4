import type { Pool, QueryResult, QueryResultRow } from 'pg';
import type { Logger } from 'pino';
import { REQUEST_ROLE, type TenantIsolation } from './isolate-tenants.ts';
import { createPool, type PoolOptions } from './pool.ts';
import { prepareBinding, TenantQuery, type TenantQuestion, type TenantStatement } from './tenant-query.ts';

/** Database access for requests: each query is bound to one account and sees only that account's rows. */
export interface TenantDatabase {
  query<Row extends QueryResultRow>(
    customerId: number,
    statement: TenantStatement & { readonly values: readonly unknown[] },
  ): Promise<readonly Row[]>;
  /** Runs the same statement for several accounts in one round trip. */
  queryEach<Row extends QueryResultRow>(
    statement: TenantStatement,
    questions: readonly TenantQuestion[],
  ): Promise<readonly (readonly Row[])[]>;
}

/** Used by tests that remove the account predicates from statements. */
export type RewriteStatement = (statement: TenantStatement) => TenantStatement;

export const createTenantDatabase = (
  pool: Pick<Pool, 'connect'>,
  rewrite: RewriteStatement = (statement) => statement,
): TenantDatabase => {
  const ask = async <Row extends QueryResultRow>(
    statement: TenantStatement,
    questions: readonly TenantQuestion[],
  ): Promise<readonly QueryResult<Row>[]> => {
    const client = await pool.connect();
    return new Promise((resolve, reject) => {
      let isDone = false;
      const done = (error: Error | null | undefined): boolean => {
        if (isDone) return false;
        isDone = true;
        client.off('error', lost);
        client.release(error ?? undefined);
        return true;
      };
      // `pg` reports a connection lost during a query only to the client's `error` listeners.
      const lost = (error: Error): void => {
        if (done(error)) reject(error);
      };
      client.on('error', lost);
      client.query(
        new TenantQuery<Row>(rewrite(statement), questions, (error, results) => {
          if (!done(error)) return;
          if (error === null) resolve([results].flat() as readonly QueryResult<Row>[]);
          else reject(error);
        }),
      );
    });
  };
  return {
    query: async <Row extends QueryResultRow>(
      customerId: number,
      { values, ...statement }: TenantStatement & { readonly values: readonly unknown[] },
    ) => (await ask<Row>(statement, [{ customerId, values }]))[0]?.rows ?? [],
    queryEach: async <Row extends QueryResultRow>(
      statement: TenantStatement,
      questions: readonly TenantQuestion[],
    ) => (await ask<Row>(statement, questions)).map(({ rows }) => rows),
  };
};

/** Wraps the database as a pool that is bound to one account. */
export const boundTo = (database: TenantDatabase, customerId: number) => ({
  query: async (
    statement: TenantStatement & { readonly values: readonly unknown[] },
  ): Promise<{ readonly rows: readonly QueryResultRow[] }> => ({
    rows: await database.query(customerId, statement),
  }),
});

/**
 * Creates the pool for requests. A connection is used only after `isolation` is applied to it. If that fails, for
 * example without the right to change the role, the request fails instead of reading with the owner's rights.
 * @param isolation undefined until the database is prepared
 */
export const createRequestPool = (
  options: PoolOptions,
  isolation: () => TenantIsolation | undefined,
  log: Logger,
): Pool =>
  createPool(
    {
      ...options,
      verify: async (client) => {
        const how = isolation();
        if (how === undefined) throw new Error('the database is not prepared yet');
        await client.query(how === 'role' ? `set role ${REQUEST_ROLE}; ${prepareBinding}` : prepareBinding);
      },
    },
    log,
  );
