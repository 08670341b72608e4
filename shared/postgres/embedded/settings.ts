import { statfs } from 'node:fs/promises';
import { memoryBytes } from '../../process/memory-bytes.ts';

export type PostgresSettings = Readonly<Record<string, string>>;

const MB = 2 ** 20;

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

const freeDiskBytes = async (path: string): Promise<number> => {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
};

const megabytes = (bytes: number, minMb: number, maxMb: number): number =>
  Math.round(Math.max(minMb, Math.min(maxMb, bytes / MB)));

/**
 * Sized for a laptop. A larger `max_wal_size` writes fewer full-page images: with 10,000,000 events and 8 GB,
 * a batch writes 2-3 MB of WAL instead of 45-54. No WAL compression: CPU time is scarcer.
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
    // The locks of a vanished client are released within 30 s.
    tcp_keepalives_idle: '10',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '4',
    log_timezone: 'UTC',
    timezone: 'UTC',
    log_checkpoints: 'off',
    log_parameter_max_length_on_error: '0',
  };
};
