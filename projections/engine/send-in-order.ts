import { setImmediate } from 'node:timers/promises';
import type { ClientBase, QueryConfig, QueryResult, QueryResultRow } from 'pg';

/** Two statements of a live batch: one is built while Postgres executes the other. */
const ROWS_AT_ONCE = 500;

export function* inPieces<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += ROWS_AT_ONCE) yield items.slice(at, at + ROWS_AT_ONCE);
}

/** Builds each while Postgres executes the one before. None is in progress when it returns or throws. */
export const sendInOrder = async <Row extends QueryResultRow>(
  client: ClientBase,
  statements: Iterable<QueryConfig>,
): Promise<readonly QueryResult<Row>[]> => {
  const sent: Promise<QueryResult<Row>>[] = [];
  try {
    for (const statement of statements) {
      await sent.at(-1);
      sent.push(client.query<Row>(statement));
      // A large statement does not fit the socket's buffer: the rest of it is sent now.
      await Promise.race([sent.at(-1), setImmediate()]);
    }
  } finally {
    await sent.at(-1);
  }
  return Promise.all(sent);
};
