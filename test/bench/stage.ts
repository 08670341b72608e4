import { startChildServer } from './child-server.ts';
import { createAccount, startService, type Environment, type ServiceProcess } from './service-process.ts';
import type { Bench, Stage } from './scenarios/scenario.ts';

/** An account's advertisers on the service of one database. */
export interface OwnService {
  readonly service: ServiceProcess;
  readonly databaseUrl: string;
  readonly customerId: number;
  readonly apiKey: string;
}

/** Starts the real service on a new database. */
export const startOwnService = async (
  bench: Pick<Bench, 'createDatabase' | 'atEnd'>,
  settings: Environment = {},
): Promise<OwnService> => {
  const { url } = await bench.createDatabase();
  const environment = { DATABASE_URL: url, NODE_ENV: 'test', ...settings };
  const service = await startService(environment);
  bench.atEnd(() => service.kill());
  return { service, databaseUrl: url, ...(await createAccount(environment)) };
};

/** The service and its bare peer. */
export const openStage = async (bench: Pick<Bench, 'createDatabase' | 'atEnd'>): Promise<Stage> => {
  const own = await startOwnService(bench);
  const bareDatabase = await bench.createDatabase();
  const bare = await startChildServer('bare-express.js', { DATABASE_URL: bareDatabase.url });
  bench.atEnd(() => bare.stop());
  return { ...own, bare: { port: bare.port, databaseUrl: bareDatabase.url } };
};
