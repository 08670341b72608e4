import { Query, type QueryResult, type QueryResultRow } from 'pg';

export interface TenantQuestion {
  readonly customerId: number;
  readonly values: readonly unknown[];
}

/** Each name has exactly one text. */
export interface TenantStatement {
  readonly name: string;
  readonly text: string;
  /** Postgres would plan each execution, though the plan is the same for all values. */
  readonly planOnce?: boolean;
}

const bindAccount = `set_config('app.customer_id', $1, true)`;

/** Must run on a connection before its first `TenantQuery`. */
export const prepareBinding = `prepare bind_account (text) as select ${bindAccount};
prepare bind_account_plan_once (text) as
  select ${bindAccount}, set_config('plan_cache_mode', 'force_generic_plan', true)`;

/** Internals that the types omit (pg 8.23, lib/query.js). */
interface Wire {
  readonly parsedStatements: Record<string, string>;
  readonly submittedNamedStatements: Record<string, string>;
  parse(message: { name: string; text: string }): void;
  bind(message: { statement: string; values: readonly unknown[]; valueMapper?: unknown }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: object): void;
  sync(): void;
}
interface QueryHandlers {
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Wire): void;
}
const base = Query.prototype as unknown as QueryHandlers;

/**
 * All messages between two `Sync` messages are one transaction: the local settings (account, plan mode) apply
 * to the query that follows, are replaced for the next account, and end also after an error.
 */
export class TenantQuery<Row extends QueryResultRow> extends Query<Row> {
  readonly #statement: TenantStatement;
  readonly #questions: readonly TenantQuestion[];
  #isBinding = true;

  constructor(
    statement: TenantStatement,
    questions: readonly TenantQuestion[],
    callback: (error: Error | null, results: QueryResult<Row> | readonly QueryResult<Row>[]) => void,
  ) {
    super({ name: statement.name, text: statement.text, values: [] }, callback as never);
    this.#statement = statement;
    this.#questions = questions;
  }

  /** Called by `Query.submit`. */
  prepare(wire: Wire): void {
    const { name, text, planOnce = false } = this.#statement;
    const binding = planOnce ? 'bind_account_plan_once' : 'bind_account';
    if (wire.parsedStatements[name] === undefined && wire.submittedNamedStatements[name] === undefined) {
      wire.parse({ name, text });
      wire.submittedNamedStatements[name] = text;
    }
    for (const { customerId, values } of this.#questions) {
      wire.bind({ statement: binding, values: [String(customerId)] });
      wire.execute({});
      wire.bind({ statement: name, values: values.map(asParameter) });
      wire.describe({ type: 'P', name: '' });
      wire.execute({});
    }
    wire.sync();
  }

  handleDataRow(message: unknown): void {
    if (!this.#isBinding) base.handleDataRow.call(this, message);
  }

  handleCommandComplete(message: unknown, wire: Wire): void {
    if (!this.#isBinding) base.handleCommandComplete.call(this, message, wire);
    this.#isBinding = !this.#isBinding;
  }
}

/** Buffers, also those of `binary-array.ts`, stay binary. */
const asParameter = (value: unknown): string | Buffer | null => {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value;
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new TypeError('not a parameter of a tenant query');
};
