import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startChildServer } from './child-server.ts';
import { createAccount, startService, type Environment, type ServiceProcess } from './service-process.ts';
import type { Opening, Stage } from './scenarios/scenario.ts';

/** The service with its own database and account. */
export interface OwnService {
  readonly service: ServiceProcess;
  readonly databaseUrl: string;
  readonly customerId: number;
  readonly apiKey: string;
}

/** Starts the real service on a new database. */
export const startOwnService = async (bench: Opening, settings: Environment = {}): Promise<OwnService> => {
  const { url } = await bench.createDatabase();
  const environment = { DATABASE_URL: url, NODE_ENV: 'test', ...settings };
  // Waits for both: if one fails, the other must still be closed.
  const [started, made] = await Promise.allSettled([startService(environment), createAccount(environment)]);
  if (started.status === 'rejected') throw started.reason;
  const { value: service } = started;
  bench.atEnd(() => service.kill());
  if (made.status === 'rejected') throw made.reason;
  return { service, databaseUrl: url, ...made.value };
};

/** The service and its bare peer. */
export const openStage = async (bench: Opening): Promise<Stage> => {
  const own = await startOwnService(bench);
  const bareDatabase = await bench.createDatabase();
  const bare = await startChildServer('bare-express.js', { DATABASE_URL: bareDatabase.url });
  bench.atEnd(() => bare.stop());
  return { ...own, bare: { port: bare.port, databaseUrl: bareDatabase.url } };
};

/** A service whose files are on the project's disk: on some machines the system's temporary folder is memory. */
export const openFileService = async (bench: Opening): Promise<OwnService & { readonly folder: string }> => {
  const folder = await mkdtemp(join(process.cwd(), '.bench-files-'));
  bench.atEnd(() => rm(folder, { recursive: true, force: true }));
  return { folder, ...(await startOwnService(bench, { DATA_DIR: folder })) };
};

/** A service for calls with conversion events. */
export const openConversionService = (bench: Opening): Promise<OwnService> => startOwnService(bench);
