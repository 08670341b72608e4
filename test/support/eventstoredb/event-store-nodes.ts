import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { sleep } from '../../../shared/async/backoff.ts';
import { createEventStoreDbEventStore } from '../../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import { freePort } from '../free-port.ts';

/** The command line that starts a node in the foreground, if `EVENTSTORE_COMMAND` is set. */
export const nodeCommand = (): string | undefined => {
  const given = process.env['EVENTSTORE_COMMAND'] ?? '';
  return given === '' ? undefined : given;
};

/** One node that a command line started. */
export interface EventStoreNode {
  readonly port: number;
  /** Ends it without warning. */
  kill(): Promise<void>;
  /** Stops it, with its connections, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Restarts it on its port and folder. */
  start(): void;
}

export interface EventStoreNodes {
  readonly url: string;
  readonly nodes: readonly EventStoreNode[];
  /** Ends the nodes and removes their folders. */
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
const START_MS_MAX = 180_000;
const LOOK_MS = 200;

/**
 * Starts the nodes of a cluster, all from the same command line with their own values, and waits until appends succeed.
 * The nodes serve without TLS.
 * @param commandLine run by a shell. `{port}` and `{replicationPort}` are the node's ports, `{folder}` is its own empty
 * directory, `{seeds}` are the addresses (`host:port`, separated by commas) of the other nodes
 * @throws Error if a node ends by itself, or no append succeeds within three minutes
 */
export const startEventStoreNodes = async (commandLine: string, count = 1): Promise<EventStoreNodes> => {
  const folder = await mkdtemp(join(tmpdir(), 'exchange-eventstoredb-'));
  const ports: number[] = [];
  const nodes: (EventStoreNode & { readonly isGone: () => boolean })[] = [];
  for (let n = 0; n < count; n += 1) ports.push(await freePort());
  for (const [n, port] of ports.entries()) {
    const values = {
      port: String(port),
      replicationPort: String(await freePort()),
      folder: join(folder, `node-${n + 1}`),
      seeds: ports
        .filter((other) => other !== port)
        .map((other) => `${HOST}:${other}`)
        .join(','),
    };
    nodes.push(createNode(commandLine, values));
  }
  const url = `esdb://${ports.map((port) => `${HOST}:${port}`).join(',')}?tls=false`;
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.kill()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilAppendable(url, () => nodes.some((node) => node.isGone()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, nodes, stop };
};

type Values = Readonly<Record<'port' | 'replicationPort' | 'folder' | 'seeds', string>>;

const createNode = (commandLine: string, values: Values) => {
  const filled = Object.entries(values).reduce(
    (line, [name, value]) => line.replaceAll(`{${name}}`, value),
    commandLine,
  );
  let program: ChildProcess;
  const start = (): void => {
    // A separate process group, so that the shell and its child receive every signal together.
    program = spawn(filled, { shell: true, detached: true, stdio: ['ignore', 'ignore', 'inherit'] });
  };
  const isGone = (): boolean => program.exitCode !== null || program.signalCode !== null;
  const signal = (name: NodeJS.Signals): void => {
    if (program.pid !== undefined && !isGone()) process.kill(-program.pid, name);
  };
  start();
  return {
    port: Number(values.port),
    isGone,
    kill: async () => {
      if (isGone()) return;
      const ended = once(program, 'exit');
      signal('SIGKILL');
      await ended;
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    start: () => {
      if (isGone()) start();
    },
  };
};

const untilAppendable = async (url: string, isGone: () => boolean): Promise<void> => {
  const store = createEventStoreDbEventStore({
    connectionString: url,
    log: pino({ level: 'silent' }),
    recordPosition: async () => undefined,
  });
  try {
    const startMs = performance.now();
    for (let problem: string | undefined = ''; problem !== undefined; await sleep(LOOK_MS)) {
      if (isGone()) throw new Error('a node that EVENTSTORE_COMMAND started has ended by itself');
      problem = await store.appendProblem();
      if (problem !== undefined && performance.now() - startMs > START_MS_MAX) {
        throw new Error(`nodes that EVENTSTORE_COMMAND started accept no appends: ${problem}`);
      }
    }
  } finally {
    await store.close();
  }
};
