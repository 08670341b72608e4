import { dropTemplate } from './test-database.ts';
import { running } from './test-run.ts';

/** After all tests: the template goes; the run's own Postgres is stopped and its data removed. */
export default async (): Promise<void> => {
  await dropTemplate();
  await running.postgres?.stop();
};
