import type { Pool, QueryResult, QueryResultRow } from 'pg';
import type { Logger } from 'pino';
import { REQUEST_ROLE, type TenantIsolation } from './isolate-tenants.ts';
import { createPool, type PoolOptions } from './pool.ts';
import { prepareBinding, TenantQuery, type TenantQuestion, type TenantStatement } from './tenant-query.ts';

/** Each query sees only the rows of one account. */
export interface TenantDatabase {
  query<Row extends QueryResultRow>(
    customerId: number,
    statement: TenantStatement & { readonly values: readonly unknown[] },
  ): Promise<readonly Row[]>;
  queryEach<Row extends QueryResultRow>(
    statement: TenantStatement,
    questions: readonly TenantQuestion[],
  ): Promise<readonly (readonly Row[])[]>;
}

/** For tests that remove the account predicates from statements. */
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

export const boundTo = (database: TenantDatabase, customerId: number) => ({
  query: async (
    statement: TenantStatement & { readonly values: readonly unknown[] },
  ): Promise<{ readonly rows: readonly QueryResultRow[] }> => ({
    rows: await database.query(customerId, statement),
  }),
});

/** Requests fail without isolation, instead of reading with the owner's rights. */
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
