import type { BackendFactory, IQueueBackend } from 'bullmq';

/** Where BullMQ keeps its jobs. */
export interface JobBackend {
  readonly kind: 'postgres' | 'redis';
  /** The connections of one more queue or worker, in the form that the factory takes. */
  readonly connect: (to: 'add' | 'work') => unknown;
  readonly prefix?: string;
  /** From so many on, jobs are added in bulk: below it, adding each by itself takes less. */
  readonly bulkMin: number;
  readonly factory: BackendFactory<IQueueBackend, unknown>;
  /** What operators should know of it; nothing secret. */
  readonly detail: Readonly<Record<string, unknown>>;
  close(): Promise<void>;
}
