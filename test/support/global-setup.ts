import { useMemoryFolder } from './memory-folder.ts';
import { running } from './test-run.ts';
import { createTemplate } from './test-database.ts';
import { startTestPostgres } from './test-postgres.ts';

/**
 * Before all tests: starts Postgres and Redis in containers (`TEST_CONTAINERS=true`), or uses the Postgres of
 * `DATABASE_URL`, or starts an embedded one.
 */
export default async (): Promise<void> => {
  await useMemoryFolder();
  if (process.env['TEST_CONTAINERS'] === 'true') {
    // Other runs do not wait for its client.
    const { startStoreContainers } = await import('./store-containers.ts');
    const stores = await startStoreContainers();
    running.stores = stores;
    process.env['TEST_POSTGRES_URL'] = stores.postgresUrl;
    process.env['REDIS_URL'] = stores.redisUrl;
    process.stdout.write(`Postgres and Redis of this run: ${stores.origin}\n`);
    await createTemplate();
    return;
  }
  const given = process.env['DATABASE_URL'] ?? '';
  if (given !== '') {
    process.env['TEST_POSTGRES_URL'] = given;
    const { hostname, port } = new URL(given);
    process.stdout.write(`Postgres of this run: DATABASE_URL, ${hostname}:${port || '5432'}\n`);
    await createTemplate();
    return;
  }
  const startMs = performance.now();
  const postgres = await startTestPostgres();
  running.stores = postgres;
  process.env['TEST_POSTGRES_URL'] = postgres.url;
  process.env['TEST_POSTGRES_ADMIN_URL'] = postgres.adminUrl;
  const tookMs = Math.round(performance.now() - startMs);
  const { port } = new URL(postgres.url);
  process.stdout.write(`Postgres of this run: embedded, 127.0.0.1:${port}, started in ${tookMs} ms\n`);
  await createTemplate();
};
