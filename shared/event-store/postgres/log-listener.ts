import { Client, type ClientConfig } from 'pg';
import type { Logger } from 'pino';
import { backoffMs, sleep } from '../../async/backoff.ts';
import type { LogReach } from '../log-reach.ts';

export interface LogListener {
  readonly listening: boolean;
  listen(): void;
  /** Lost without a connection: other processes query the head once a second. */
  announce(position: number): void;
  close(): Promise<void>;
}

const CHANNEL = 'event_log';
const RETRY = { baseMs: 50, capMs: 2_000 };
/**
 * Not part of the append transaction: a notifying transaction holds a cluster-wide lock until its commit is
 * on disk, and all appends would wait for each other. A notification may be late or lost (therefore also
 * `synchronous_commit = off`). @param announceEveryMs after an idle time the first one is immediate
 */
export const createLogListener = (
  config: ClientConfig,
  reach: LogReach,
  announceEveryMs: number,
  log: Logger,
): LogListener => {
  const closing = new AbortController();
  let client: Client | undefined;
  let keeping: Promise<void> | undefined;
  let latest = 0;
  let announced = 0;
  let announcing: Promise<void> | undefined;

  const keepListening = async (): Promise<void> => {
    for (let failures = 1; !closing.signal.aborted; failures += 1) {
      try {
        const current = await connectListener(config, reach, log);
        failures = 0;
        client = current;
        // Announcements that arrived while the connection was down are lost.
        reach.wake();
        if (!closing.signal.aborted) await new Promise((resolve) => current.once('end', resolve));
        client = undefined;
        await current.end();
      } catch (error) {
        log.warn({ err: error, failures }, 'event log listener cannot connect');
      }
      await sleep(backoffMs(failures + 1, RETRY), closing.signal);
    }
  };

  const announceLatest = async (): Promise<void> => {
    while (announced < latest) {
      announced = latest;
      const values = [String(announced)];
      await client?.query({ name: 'announce', text: `select pg_notify('${CHANNEL}', $1)`, values });
      await sleep(announceEveryMs, closing.signal);
    }
  };

  const listen = (): void => {
    if (!closing.signal.aborted) keeping ??= keepListening();
  };

  return {
    get listening() {
      return client !== undefined;
    },
    listen,
    announce: (position) => {
      latest = Math.max(latest, position);
      listen();
      announcing ??= announceLatest()
        .catch((error: unknown) => {
          log.warn({ err: error }, 'the log position was not announced');
          // A statement without an answer would block all later ones: `end` closes the connection.
          return client?.end();
        })
        .finally(() => {
          announcing = undefined;
        });
    },
    close: async () => {
      // Ends the pause between two announcements, so that the latest position is sent.
      closing.abort();
      await announcing;
      await client?.end();
      await keeping;
    },
  };
};

const connectListener = async (config: ClientConfig, reach: LogReach, log: Logger): Promise<Client> => {
  const client = new Client({ ...config, options: `${config.options ?? ''} -c synchronous_commit=off` });
  client.on('notification', ({ payload }) => {
    const position = Number(payload);
    if (Number.isSafeInteger(position)) reach.advance(position);
  });
  client.on('error', (error) => log.warn({ err: error }, 'event log listener lost its connection'));
  try {
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
  } catch (error) {
    client.end().catch(() => undefined);
    throw error;
  }
  return client;
};
