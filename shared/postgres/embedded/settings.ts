import { statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';

/** Postgres settings by name, as on its command line. */
export type PostgresSettings = Readonly<Record<string, string>>;

const MB = 2 ** 20;

/** Sizes in MB instead of those fitted to the machine. */
interface ChosenSizes {
  readonly POSTGRES_BUFFERS_MB?: number | undefined;
  readonly POSTGRES_WAL_MB?: number | undefined;
}

const walSizes = (maxMb: number): PostgresSettings => ({
  max_wal_size: `${maxMb}MB`,
  min_wal_size: `${Math.max(80, Math.round(maxMb / 8))}MB`,
});

export const chosenSizes = ({ POSTGRES_BUFFERS_MB, POSTGRES_WAL_MB }: ChosenSizes): PostgresSettings => ({
  ...(POSTGRES_BUFFERS_MB !== undefined && { shared_buffers: `${POSTGRES_BUFFERS_MB}MB` }),
  ...(POSTGRES_WAL_MB !== undefined && walSizes(POSTGRES_WAL_MB)),
});

/** What a container may use, where it is less than what the machine has. */
const memoryBytes = (): number => {
  const constrained = process.constrainedMemory?.() ?? 0;
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
};

const freeDiskBytes = async (path: string): Promise<number> => {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
};

const megabytes = (bytes: number, minMb: number, maxMb: number): number =>
  Math.round(Math.max(minMb, Math.min(maxMb, bytes / MB)));

/**
 * Settings fitted to the machine, and to a laptop at most: a busy service sets more. Shared buffers take memory only as they
 * are used. A larger `max_wal_size` keeps more full-page images out of the log: at 10,000,000 known conversions and 8 GB a
 * batch writes 2-3 MB of log instead of 45-54. Log compression stays off: the build has only pglz, and processor time is
 * scarcer than the few images that are left. Durability stays at its defaults: all on.
 */
export const fittedSettings = async (dataDirectory: string): Promise<PostgresSettings> => {
  const memory = memoryBytes();
  const maxWalMb = megabytes((await freeDiskBytes(dataDirectory)) / 10, 256, 1024);
  return {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: `${megabytes(memory / 4, 32, 256)}MB`,
    effective_cache_size: `${megabytes(memory * 0.6, 64, 1_048_576)}MB`,
    maintenance_work_mem: `${megabytes(memory / 32, 16, 512)}MB`,
    ...walSizes(maxWalMb),
    checkpoint_timeout: '15min',
    checkpoint_completion_target: '0.9',
    random_page_cost: '1.1',
    jit: 'off',
    // A client that vanished gives its locks back within half a minute.
    tcp_keepalives_idle: '10',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '4',
    log_timezone: 'UTC',
    timezone: 'UTC',
    log_checkpoints: 'off',
    // Statements are logged without their parameters' values, errors in full.
    log_parameter_max_length_on_error: '0',
  };
};
