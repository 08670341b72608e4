import type { BackendFactory, IQueueBackend } from 'bullmq';

export interface JobBackend {
  readonly kind: 'postgres' | 'redis';
  readonly connect: (to: 'add' | 'work') => unknown;
  readonly prefix?: string;
  readonly bulkMin: number;
  readonly factory: BackendFactory<IQueueBackend, unknown>;
  /** For operators; nothing secret. */
  readonly detail: Readonly<Record<string, unknown>>;
  close(): Promise<void>;
}
