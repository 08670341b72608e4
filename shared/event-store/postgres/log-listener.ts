import { Client, type ClientConfig } from 'pg';
import type { Logger } from 'pino';
import { backoffMs, sleep } from '../../async/backoff.ts';
import type { LogReach } from '../log-reach.ts';

/** Tells the other processes on this database how far the log has come, and hears it from them. */
export interface LogListener {
  readonly listening: boolean;
  /** Starts listening, once; returns at once. */
  listen(): void;
  /** Tells the others, soon. Lost when there is no connection: they look by themselves once a second. */
  announce(position: number): void;
  /** What was announced is told first, if there is a connection. */
  close(): Promise<void>;
}

const CHANNEL = 'event_log';
const RETRY = { baseMs: 50, capMs: 2_000 };
/**
 * Why the announcement is not part of the append: a transaction that notifies holds a lock of the whole
 * cluster until its commit is on disk, so appends, and whatever else notifies on that server, would wait for
 * one another's disk; and the appending caller would pay for it. A hint may come a little later, or not at all.
 * (`synchronous_commit = off`: an announcement is nothing to keep.)
 * @param config the connection, with its timeouts (`connectionConfig`)
 * @param announceEveryMs a busy process announces the latest position this often; an idle one at once
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
  let told = 0;
  let announcing: Promise<void> | undefined;

  const keepListening = async (): Promise<void> => {
    for (let failures = 1; !closing.signal.aborted; failures += 1) {
      try {
        const current = await connectListener(config, reach, log);
        failures = 0;
        client = current;
        // Whatever was announced while nobody listened was not heard.
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
    while (told < latest) {
      told = latest;
      const values = [String(told)];
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
          // A statement that got no answer would hold up every later one: `end` cuts the connection.
          return client?.end();
        })
        .finally(() => {
          announcing = undefined;
        });
    },
    close: async () => {
      // Ends the pause between two announcements: the latest position is told before the connection goes.
      closing.abort();
      await announcing;
      await client?.end();
      await keeping;
    },
  };
};

/** @returns a connection that listens; @throws what connecting throws */
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
