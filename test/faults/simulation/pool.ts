import type { Pool } from 'pg';
import type { Database, Row, Tables, Transaction } from './database.ts';
import { keyStatements } from './key-statements.ts';
import { projectionStatements } from './projection-statements.ts';
import { snapshotStatements } from './snapshot-statements.ts';
import type { Statement } from './statement.ts';
import type { Process, World } from './world.ts';

/** Changes the effect of a statement, to plant a defect in SQL. */
export type ChangeStatement = (statement: Statement, database: Database) => Statement;

interface Query {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

interface QueryResult {
  readonly rows: readonly Row[];
  readonly rowCount: number;
}

interface SequenceRow {
  readonly id: number;
}

const connectionLost = (): Error => new Error('Connection terminated unexpectedly');
const refused = (): Error => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const resultOf = (answer: readonly Row[] | number): QueryResult =>
  typeof answer === 'number' ? { rows: [], rowCount: answer } : { rows: answer, rowCount: answer.length };

/** A sequence keeps its value after a rollback and a crash. */
export const createSequence = (first: number): Statement => {
  let last = first - 1;
  return {
    is: 'next-advertiser_ids',
    run: (_tables, [, count]) =>
      Array.from({ length: Number(count) }, (): Row & SequenceRow => ({ id: (last += 1) })),
  };
};

/** A process's `pg` pool. It executes the service's statements in memory, one step each. */
export const createSimulatedPool = (
  world: World,
  process: Process,
  database: Database,
  options: { readonly sequence: Statement; readonly change?: ChangeStatement | undefined },
): Pool => {
  const { sequence, change = (statement) => statement } = options;
  const statements = [...keyStatements, ...projectionStatements, ...snapshotStatements, sequence];

  const find = ({ name, text }: Query): Statement => {
    const statement = statements.find(({ is }) => is === name || text.trimStart().startsWith(is));
    if (statement === undefined) throw new Error(`unknown statement in the simulation: ${text}`);
    return change(statement, database);
  };

  const run = async (query: Query, tables: Tables, transaction?: Transaction): Promise<QueryResult> => {
    const statement = find(query);
    const values = query.values ?? [];
    const row = statement.locks?.(values);
    const work = (): QueryResult => {
      if (transaction?.isOpen === false) throw connectionLost();
      if (row !== undefined && transaction !== undefined) database.lock(row, transaction);
      transaction?.touch();
      return resultOf(statement.run(tables, values, database));
    };
    return world.call({
      process,
      label: statement.is,
      mayRun: () => row === undefined || transaction?.isOpen === false || database.mayLock(row, transaction),
      run: work,
      refused: transaction === undefined ? refused : connectionLost,
      unknown: connectionLost,
      mayLandLate: transaction === undefined,
    });
  };

  return {
    query: (text: string | Query, values?: readonly unknown[]) => run(queryOf(text, values), database.tables),
    connect: () => Promise.resolve(createClient(world, process, database, run)),
  } as unknown as Pool;
};

const queryOf = (text: string | Query, values?: readonly unknown[]): Query =>
  typeof text === 'string' ? { text, ...(values === undefined ? {} : { values }) } : text;

/** One connection. When it breaks, its transaction is rolled back. Only the outcome of a commit is unknown. */
const createClient = (
  world: World,
  process: Process,
  database: Database,
  run: (query: Query, tables: Tables, transaction?: Transaction) => Promise<QueryResult>,
) => {
  let transaction: Transaction | undefined;
  process.onCrash(() => transaction?.rollback());

  const control: Readonly<Record<string, (open: Transaction) => void>> = {
    commit: (open) => open.commit(),
    rollback: (open) => open.rollback(),
    'savepoint attempt': (open) => open.savepoint(),
    'rollback to savepoint attempt': (open) => open.rollbackToSavepoint(),
    'release savepoint attempt': () => undefined,
  };

  const inStep = (label: string, work: (open: Transaction) => void): Promise<QueryResult> => {
    const open = transaction;
    return world.call({
      process,
      label,
      run: () => {
        if (open?.isOpen !== true) throw connectionLost();
        open.touch();
        work(open);
        return resultOf(0);
      },
      refused: connectionLost,
      unknown: connectionLost,
    });
  };

  return {
    query: async (text: string | Query, values?: readonly unknown[]): Promise<QueryResult> => {
      const query = queryOf(text, values);
      if (query.text === 'begin') {
        transaction = database.begin();
        return resultOf(0);
      }
      const work = control[query.text];
      const open = transaction;
      try {
        return work !== undefined
          ? await inStep(query.text, work)
          : await run(query, open?.tables ?? database.tables, open);
      } catch (error) {
        // The server rolls back the open transaction for any cause of a lost connection.
        if (error instanceof Error && error.message === connectionLost().message) open?.rollback();
        throw error;
      }
    },
    release: (): void => transaction?.rollback(),
  };
};
