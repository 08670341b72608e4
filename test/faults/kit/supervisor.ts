import { spawn, type ChildProcess } from 'node:child_process';
import { sleep } from '../../../shared/async/backoff.ts';
import { freePort } from '../../support/free-port.ts';
import { shippedProgram, testProgram } from '../../support/bundles.ts';
import { generousLimits } from '../../support/generous-limits.ts';

const service = shippedProgram('main.js');
const mutant = testProgram('faults/mutant-main.js');

export interface Supervisor {
  /** The processes' ports, constant while the supervisor runs. */
  readonly ports: readonly number[];
  /** Processes that died unexpectedly. */
  readonly crashes: number;
  /** Process ids of the running processes. */
  readonly pids: readonly number[];
  /** Resolves when every process is ready. */
  ready(): Promise<void>;
  /** Resolves when an optional part of one process is ready. */
  partReady(index: number, part: string): Promise<void>;
  /** Processes started from now on have no failpoints. */
  calm(): void;
  /** Kills one process. */
  kill(index: number): void;
  /** Sends a signal to one process. It is restarted when it ends. */
  signal(index: number, signal: NodeJS.Signals): void;
  /** Kills all processes and starts no more. */
  stop(): Promise<void>;
}

type Environment = Readonly<Record<string, string>>;

/**
 * ReferencedStores processes of the service running: a process that ends is restarted immediately.
 * @param processes the number of processes, or the environment that each has in addition
 * @param environment for all processes; `MUTANT` names a planted defect
 * @param program default: the shipped one
 */
export const startSupervisor = async (
  processes: number | readonly Environment[],
  environment: Environment,
  program = environment['MUTANT'] === undefined ? service : mutant,
): Promise<Supervisor> => {
  const own = typeof processes === 'number' ? Array.from({ length: processes }, () => ({})) : processes;
  const ports = await Promise.all(own.map(freePort));
  const children: (ChildProcess | undefined)[] = ports.map(() => undefined);
  const ended = new Set<Promise<unknown>>();
  let crashes = 0;
  let stopping = false;
  let isCalm = false;

  const start = (index: number): void => {
    const child = spawn(process.execPath, [program], {
      env: {
        PATH: process.env['PATH'],
        NODE_ENV: 'test',
        LOG_LEVEL: 'fatal',
        ...generousLimits,
        ...environment,
        ...own[index],
        ...(isCalm ? { EXCHANGE_FAILPOINTS: '' } : {}),
        PORT: String(ports[index]),
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    children[index] = child;
    const end = new Promise<void>((resolve) => {
      child.once('exit', () => {
        resolve();
        if (stopping) return;
        crashes++;
        start(index);
      });
    });
    ended.add(end);
    void end.then(() => ended.delete(end));
  };
  ports.forEach((_, index) => start(index));

  return {
    ports,
    get crashes() {
      return crashes;
    },
    get pids() {
      return children.map((child) => child?.pid ?? 0);
    },
    ready: async () => {
      await Promise.all(ports.map((port) => untilReady(port)));
    },
    partReady: (index, part) => untilReady(ports[index] ?? 0, part),
    calm: () => {
      isCalm = true;
    },
    kill: (index) => void children[index]?.kill('SIGKILL'),
    signal: (index, signal) => void children[index]?.kill(signal),
    stop: async () => {
      stopping = true;
      for (const child of children) child?.kill('SIGKILL');
      await Promise.all(ended);
    },
  };
};

const READY_MS_MAX = 60_000;
const EVERY_MS = 50;

const untilReady = async (port: number, part?: string): Promise<void> => {
  const startedAt = performance.now();
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
    if (answer?.status === 200 && (part === undefined || (await isPartReady(answer, part)))) return;
    if (performance.now() - startedAt > READY_MS_MAX) throw new Error(`nothing is ready on port ${port}`);
    // Each poll makes the process query its database.
    await sleep(EVERY_MS);
  }
};

/** False for a process that is killed meanwhile. */
const isPartReady = async (answer: Response, part: string): Promise<boolean> => {
  const body = (await answer.json().catch(() => undefined)) as
    { readonly parts?: Readonly<Record<string, { readonly ready?: boolean }>> } | undefined;
  return body?.parts?.[part]?.ready === true;
};
