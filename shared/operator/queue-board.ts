import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import { openJobBackend, type JobStore } from '../queue/running-jobs.ts';

export interface QueueBoardOptions {
  readonly store: JobStore;
  readonly names: readonly string[];
  /** Where it is served. */
  readonly path: string;
  readonly log: Logger;
}

export interface QueueBoard {
  readonly serve: RequestHandler;
  close(): Promise<void>;
}

/** The packages of the board are optional dependencies. */
export class NoBoardError extends Error {
  override readonly name = 'NoBoardError';
}

const HIDDEN = 'hidden';

/**
 * Shows jobs and changes none, with its own connections, which open with the board. Their data, which names accounts
 * and addresses, is replaced.
 * @throws NoBoardError if its packages are not installed
 */
export const openQueueBoard = async ({ store, names, path, log }: QueueBoardOptions): Promise<QueueBoard> => {
  const { createBullBoard, BullMQAdapter, ExpressAdapter } = await boardPackages();
  const { openQueue } = await import('../queue/bullmq-queue.ts');
  const backend = await openJobBackend(store, log);
  const queues = names.map((name) => openQueue(name, backend, log));
  const serverAdapter = new ExpressAdapter();
  serverAdapter.setBasePath(path);
  const adapters = queues.map((queue) => {
    const adapter = new BullMQAdapter(queue as never, { readOnlyMode: true, allowRetries: false });
    adapter.setFormatter('data', () => HIDDEN);
    adapter.setFormatter('returnValue', () => HIDDEN);
    adapter.setFormatter('progress', () => 0);
    return adapter;
  });
  createBullBoard({ queues: adapters, serverAdapter, options: { uiConfig: { boardTitle: 'Job queues' } } });
  return {
    serve: serverAdapter.getRouter() as RequestHandler,
    close: async () => {
      await Promise.allSettled(queues.map((queue) => queue.close()));
      await backend.close();
    },
  };
};

const boardPackages = async () => {
  try {
    const [{ createBullBoard }, { BullMQAdapter }, { ExpressAdapter }] = await Promise.all([
      import('@bull-board/api'),
      import('@bull-board/api/bullMQAdapter'),
      import('@bull-board/express'),
    ]);
    return { createBullBoard, BullMQAdapter, ExpressAdapter };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new NoBoardError('The board is not installed: npm ci without --omit=optional installs it.');
  }
};
