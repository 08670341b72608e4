import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Stored in a file next to the cluster that only its owner can read. */
export interface Secrets {
  readonly adminPassword: string;
  readonly runtimePassword: string;
}

const fileName = 'postgres-secrets.json';

export const readSecrets = async (dataDir: string): Promise<Secrets> => {
  try {
    return JSON.parse(await readFile(join(dataDir, fileName), 'utf8')) as Secrets;
  } catch (error) {
    throw new Error(`the embedded Postgres cannot be used without ${join(dataDir, fileName)}`, {
      cause: error,
    });
  }
};

/** If several processes start with an empty directory, all use the first passwords. */
export const createSecrets = async (dataDir: string): Promise<Secrets> => {
  const draft = join(dataDir, `.${fileName}-${process.pid}-${randomBytes(6).toString('base64url')}`);
  const secrets: Secrets = {
    adminPassword: randomBytes(24).toString('base64url'),
    runtimePassword: randomBytes(24).toString('base64url'),
  };
  const file = await open(draft, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(secrets)}\n`);
    await file.sync();
    // Unlike a rename, a link never replaces an existing file.
    await link(draft, join(dataDir, fileName)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
  return readSecrets(dataDir);
};
