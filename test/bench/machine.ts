import { cpus, release, totalmem, type } from 'node:os';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import { runSql } from './bench-database.ts';

export interface Machine {
  readonly system: string;
  readonly cores: number;
  readonly processor: string;
  readonly memoryGib: number;
  readonly node: string;
  readonly postgres: string;
  /** Versions of the service's and the peers' packages, by name. */
  readonly packages: Readonly<Record<string, string>>;
  /** Settings that decide the cost of a write. */
  readonly durability: string;
}

const PACKAGES = ['express', 'pg', 'knex', 'bullmq'];

const versionOf = async (name: string): Promise<string> => {
  const file = join(packageDirectory, 'node_modules', name, 'package.json');
  return (JSON.parse(await readFile(file, 'utf8')) as { version: string }).version;
};

/** Describes the machine and versions of a run. */
export const describeMachine = async (url: string): Promise<Machine> => {
  const [row] = (await runSql(
    url,
    `select current_setting('server_version') as version, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as commit, current_setting('shared_buffers') as buffers,
       current_setting('max_wal_size') as wal`,
  )) as [{ version: string; fsync: string; commit: string; buffers: string; wal: string }];
  return {
    system: `${type()} ${release()}`,
    cores: cpus().length,
    processor: cpus()[0]?.model ?? 'unknown',
    memoryGib: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    postgres: row.version,
    packages: Object.fromEntries(
      await Promise.all(PACKAGES.map(async (name) => [name, await versionOf(name)] as const)),
    ),
    durability: `fsync ${row.fsync}, synchronous_commit ${row.commit}, shared_buffers ${row.buffers}, max_wal_size ${row.wal}`,
  };
};

/** The machine and its versions in one line. */
export const machineText = ({ packages, ...machine }: Machine): string =>
  `${machine.cores} cores (${machine.processor}), ${machine.memoryGib} GiB, ${machine.system}, ` +
  `Node ${machine.node}, Postgres ${machine.postgres} (${machine.durability}), ` +
  Object.entries(packages)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
