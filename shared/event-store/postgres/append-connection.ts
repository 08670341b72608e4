import { Client, type ClientConfig } from 'pg';
import type { Logger } from 'pino';
import { backoffMs, sleep } from '../../async/backoff.ts';
import type { AppendRequest } from '../append-request.ts';
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../event-store.ts';
import { appendBatch, type AppendAnswer } from './append-batch.ts';
import { classifyAppendFailure } from './append-failure.ts';

export interface AppendConnection {
  readonly connected: boolean;
  /** Waits for the back-off of earlier failures. @throws EventStoreUnavailableError */
  connect(): Promise<void>;
  /** @throws BatchRefusedError, EventStoreUnavailableError, AppendOutcomeUnknownError */
  run(batch: readonly AppendRequest[]): Promise<readonly AppendAnswer[]>;
  close(): Promise<void>;
}

const RETRY = { baseMs: 50, capMs: 1_000 };

// The plan is made once, perhaps while the log is empty. These settings force the one that suits a large log.
const PLANNER =
  '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off ' +
  '-c enable_nestloop=off -c enable_mergejoin=off -c work_mem=32MB';

export const createAppendConnection = (config: ClientConfig, log: Logger): AppendConnection => {
  const closing = new AbortController();
  let client: Client | undefined;
  let failures = 0;
  let retryAtMs = 0;

  const failed = (): void => {
    failures += 1;
    retryAtMs = performance.now() + backoffMs(failures, RETRY);
  };
  /** `end` closes the connection even during a statement. */
  const drop = (lost: Client): void => {
    if (client === lost) client = undefined;
    lost.end().catch(() => undefined);
  };

  return {
    get connected() {
      return client !== undefined;
    },
    connect: async () => {
      const waitMs = retryAtMs - performance.now();
      if (waitMs > 0) await sleep(waitMs, closing.signal);
      if (closing.signal.aborted) throw new EventStoreUnavailableError('the event store is closed');
      const next = new Client({ ...config, options: `${config.options ?? ''} ${PLANNER}` });
      next.on('error', (error) => {
        if (client !== next) return;
        log.warn({ err: error }, 'append connection lost');
        drop(next);
      });
      try {
        await next.connect();
      } catch (error) {
        failed();
        drop(next);
        throw new EventStoreUnavailableError('the event log cannot be reached', { cause: error });
      }
      client = next;
      if (closing.signal.aborted) drop(next);
    },
    run: async (batch) => {
      const current = client;
      if (current === undefined) throw new EventStoreUnavailableError('the event log cannot be reached');
      try {
        const answers = await appendBatch(current, batch);
        failures = 0;
        return answers;
      } catch (cause) {
        const error = classifyAppendFailure(cause);
        log.warn({ err: cause, appends: batch.length, meaning: error.name }, 'append failed');
        if (error instanceof AppendOutcomeUnknownError) {
          failed();
          drop(current);
        }
        throw error;
      }
    },
    close: async () => {
      closing.abort();
      await client?.end();
    },
  };
};
