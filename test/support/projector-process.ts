/** A projector in a separate process, for tests to kill: `node projector-process.js DATABASE_URL`. */
import { startProjections } from '../../projections/engine/projection-engine.ts';
import { createPostgresEventStore } from '../../shared/event-store/postgres/postgres-event-store.ts';
import { createToy, projectorPool, silent } from './toy-projection.ts';

const connectionString = process.argv[2] ?? '';
const pool = projectorPool(connectionString);
const store = createPostgresEventStore({ connectionString, pool, log: silent });
const projections = startProjections({
  projections: [createToy()],
  store,
  connectionString,
  pool,
  log: silent,
});

const tell = async (): Promise<void> => {
  const [status] = await projections.status().catch(() => []);
  process.send?.({ leading: status?.leading ?? false });
};
setInterval(() => void tell(), 50);
