import { running } from './test-run.ts';

/** After all tests: the run's own Postgres is stopped and its data removed. */
export default async (): Promise<void> => {
  await running.postgres?.stop();
};
