import { setImmediate } from 'node:timers/promises';
import type { ClientBase, QueryConfig } from 'pg';

/** Two statements of a live batch: one is built while Postgres executes the other. */
const ROWS_AT_ONCE = 500;

export function* inPieces<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += ROWS_AT_ONCE) yield items.slice(at, at + ROWS_AT_ONCE);
}

/** Builds each while Postgres executes the one before. None is in progress when it returns or throws. */
export const sendInOrder = async (client: ClientBase, statements: Iterable<QueryConfig>): Promise<void> => {
  let running: Promise<unknown> = Promise.resolve();
  try {
    for (const statement of statements) {
      await running;
      running = client.query(statement);
      // A large statement does not fit the socket's buffer: the rest of it is sent now.
      await Promise.race([running, setImmediate()]);
    }
  } finally {
    await running;
  }
};
