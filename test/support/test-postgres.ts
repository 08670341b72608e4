import { chmod, mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { createLog } from '../../app/log.ts';
import { locateBinaries } from '../../shared/postgres/embedded/binaries.ts';
import { startEmbeddedPostgres } from '../../shared/postgres/embedded/embedded-postgres.ts';
import { stopPostgres } from '../../shared/postgres/embedded/pg-ctl.ts';
import { isAlive } from '../../shared/postgres/embedded/processes.ts';
import { unprivilegedUser } from '../../shared/postgres/embedded/unprivileged-user.ts';
import { provideRequestRole } from '../../shared/postgres/isolate-tenants.ts';

const prefix = 'buyer-exchange-test-';

/** A data folder for this process in the temporary directory, which other users may enter. */
export const createTestDataDir = async (): Promise<string> => {
  const directory = await mkdtemp(join(await realpath(tmpdir()), `${prefix}${process.pid}-`));
  await chmod(directory, 0o711);
  return directory;
};

/** Stops the Postgres of a data folder if it still runs, and removes the folder and its link target. */
export const removeDataDir = async (dataDir: string): Promise<void> => {
  const dataDirectory = await realpath(join(dataDir, 'postgres')).catch(() => undefined);
  if (dataDirectory !== undefined) {
    const user = await unprivilegedUser();
    await stopPostgres({ dataDirectory, binaries: await locateBinaries(user), user });
    await rm(dirname(dataDirectory), { recursive: true, force: true });
  }
  await rm(dataDir, { recursive: true, force: true });
};

/** Killed earlier runs left their folders behind, with Postgres running. */
const sweep = async (): Promise<void> => {
  const directory = await realpath(tmpdir());
  for (const name of await readdir(directory)) {
    if (!name.startsWith(prefix)) continue;
    const owner = Number.parseInt(name.slice(prefix.length), 10);
    if (!(await isAlive(owner))) await removeDataDir(join(directory, name));
  }
};

interface TestPostgres {
  /** For a role that may create databases but is not a superuser. */
  readonly url: string;
  /** For the superuser. */
  readonly adminUrl: string;
  stop(): Promise<void>;
}

/** The Postgres of one test run. It need not survive a power failure. */
export const startTestPostgres = async (): Promise<TestPostgres> => {
  await sweep();
  const dataDir = await createTestDataDir();
  const settings = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '400',
    max_wal_size: '256MB',
  };
  const postgres = await startEmbeddedPostgres({ dataDir, log: createLog('warn'), settings });
  const client = new Client({ connectionString: postgres.adminUrl });
  await client.connect();
  await client.query('alter role exchange createdb');
  await client.end();
  await provideRequestRole(postgres);
  return {
    url: postgres.url,
    adminUrl: postgres.adminUrl,
    stop: async () => {
      await postgres.stop();
      await removeDataDir(dataDir);
    },
  };
};
