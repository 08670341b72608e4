import { dropTemplate } from './test-database.ts';
import { running } from './test-run.ts';

/** After all tests: drops the template database, and stops the embedded Postgres and removes its data. */
export default async (): Promise<void> => {
  await dropTemplate();
  await running.stores?.stop();
};
