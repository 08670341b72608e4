import { cpus, release, totalmem, type } from 'node:os';
import { runSql } from './bench-database.ts';

export interface Machine {
  readonly system: string;
  readonly cores: number;
  readonly processor: string;
  readonly memoryGib: number;
  readonly node: string;
  readonly postgres: string;
  /** Settings without which a figure of a write says nothing. */
  readonly durability: string;
}

/** What the figures were taken on. */
export const describeMachine = async (url: string): Promise<Machine> => {
  const [row] = (await runSql(
    url,
    `select current_setting('server_version') as version, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as commit, current_setting('shared_buffers') as buffers`,
  )) as [{ version: string; fsync: string; commit: string; buffers: string }];
  return {
    system: `${type()} ${release()}`,
    cores: cpus().length,
    processor: cpus()[0]?.model ?? 'unknown',
    memoryGib: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    postgres: row.version,
    durability: `fsync ${row.fsync}, synchronous_commit ${row.commit}, shared_buffers ${row.buffers}`,
  };
};

export const machineText = (machine: Machine): string =>
  `${machine.cores} cores (${machine.processor}), ${machine.memoryGib} GiB, ${machine.system}, ` +
  `Node ${machine.node}, Postgres ${machine.postgres} (${machine.durability})`;
