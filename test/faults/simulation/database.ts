/** Tables in memory with the guarantees that the code needs: transactions, savepoints, row locks, one clock. */

export interface Row {
  readonly [column: string]: unknown;
}

export interface Table {
  get(key: string): Row | undefined;
  set(key: string, row: Row): void;
  delete(key: string): void;
  rows(): readonly (readonly [string, Row])[];
}

/** Only this simulation has `completions`: the time of each key's first completion. */
const tableNames = [
  'keys',
  'completions',
  'checkpoints',
  'parked',
  'advertisers',
  'counts',
  'snapshots',
] as const;
export type TableName = (typeof tableNames)[number];
export type Tables = Readonly<Record<TableName, Table>>;

export interface Transaction {
  readonly tables: Tables;
  /** False after the server ended it with a rollback. */
  readonly isOpen: boolean;
  touch(): void;
  savepoint(): void;
  rollbackToSavepoint(): void;
  commit(): void;
  rollback(): void;
}

export interface Database {
  readonly now: number;
  /** Refused values are accepted from now on. */
  isMended: boolean;
  /** For statements outside a transaction. */
  readonly tables: Tables;
  begin(): Transaction;
  /** True if `owner` may write this row now. Ends transactions that hold it and were idle for too long. */
  mayLock(row: string, owner: Transaction | undefined): boolean;
  lock(row: string, owner: Transaction): void;
}

/** `idle_in_transaction_session_timeout` (shared/postgres/pool.ts). */
const IDLE_MS_MAX = 5_000;

type Changes = Readonly<Record<TableName, Map<string, Row | undefined>>>;
const forEachTable = <T>(make: (name: TableName) => T): Readonly<Record<TableName, T>> =>
  Object.fromEntries(tableNames.map((name) => [name, make(name)])) as Readonly<Record<TableName, T>>;

const committedTable = (rows: Map<string, Row>): Table => ({
  get: (key) => rows.get(key),
  set: (key, row) => void rows.set(key, row),
  delete: (key) => void rows.delete(key),
  rows: () => [...rows],
});

const changedTable = (committed: Table, changes: () => Map<string, Row | undefined>): Table => ({
  get: (key) => (changes().has(key) ? changes().get(key) : committed.get(key)),
  set: (key, row) => void changes().set(key, row),
  delete: (key) => void changes().set(key, undefined),
  rows: () => {
    const rows = new Map(committed.rows());
    for (const [key, row] of changes()) {
      if (row === undefined) rows.delete(key);
      else rows.set(key, row);
    }
    return [...rows];
  },
});

/**
 * @param clock the database's time
 * @param onCommit called after each committed transaction
 */
export const createDatabase = (clock: () => number, onCommit: (tables: Tables) => void): Database => {
  const tables = forEachTable(() => committedTable(new Map()));
  const locks = new Map<string, Transaction>();
  const idleSince = new WeakMap<Transaction, number>();

  const begin = (): Transaction => {
    let isOpen = true;
    let changes: Changes = forEachTable(() => new Map());
    let saved = changes;
    const end = (): void => {
      isOpen = false;
      for (const [row, owner] of locks) if (owner === transaction) locks.delete(row);
    };
    const copy = (of: Changes): Changes => forEachTable((name) => new Map(of[name]));
    const transaction: Transaction = {
      tables: forEachTable((name) => changedTable(tables[name], () => changes[name])),
      get isOpen() {
        return isOpen;
      },
      touch: () => void idleSince.set(transaction, clock()),
      savepoint: () => {
        saved = copy(changes);
      },
      rollbackToSavepoint: () => {
        changes = copy(saved);
      },
      commit: () => {
        for (const name of tableNames) {
          for (const [key, row] of changes[name]) {
            if (row === undefined) tables[name].delete(key);
            else tables[name].set(key, row);
          }
        }
        end();
        onCommit(tables);
      },
      rollback: end,
    };
    transaction.touch();
    return transaction;
  };

  return {
    get now() {
      return clock();
    },
    isMended: false,
    tables,
    begin,
    mayLock: (row, owner) => {
      const holder = locks.get(row);
      if (holder === undefined || holder === owner) return true;
      if (clock() - (idleSince.get(holder) ?? 0) > IDLE_MS_MAX) holder.rollback();
      return !locks.has(row);
    },
    lock: (row, owner) => void locks.set(row, owner),
  };
};
