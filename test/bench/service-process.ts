import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { shippedProgram } from '../support/bundles.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { packageDirectory } from '../../app/version.ts';

const run = promisify(execFile);

export interface ServiceProcess {
  readonly port: number;
  readonly operatorUrl: string;
  readonly pid: number;
  /** In the Prometheus text format. */
  readonly metrics: () => Promise<string>;
  /** Milliseconds from the start of the process until `/ready` answered 200. */
  readonly readyMs: number;
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Added to this process's environment; undefined removes a variable. */
export type Environment = Readonly<Record<string, string | undefined>>;
export type Start = (environment: Environment) => Promise<ServiceProcess>;

/** The folder for each process's profile, written when it ends. Undefined: no profiles. */
const profileDirectory = (): string | undefined => process.env['BENCH_PROFILE_DIR'];

/** Starts the real service as a separate process and waits until it is ready. */
export const startService: Start = (environment) => {
  const directory = profileDirectory();
  const profiling = directory === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${directory}`];
  return startProcess(process.execPath, [...profiling, shippedProgram('main.js')], environment);
};

const running = new Map<ChildProcess, ServiceProcess['metrics']>();

/** Read the metrics of the service's running processes that this process started. */
export const runningMetrics = (): readonly ServiceProcess['metrics'][] => [...running.values()];

/**
 * Starts the service by `npm start`, as a person does. It has its own process group, since npm starts other processes.
 */
export const npmStart: Start = (environment) => startProcess('npm', ['start', '--silent'], environment);

const startProcess = async (
  program: string,
  args: readonly string[],
  environment: Environment,
): Promise<ServiceProcess> => {
  const [port, operatorPort] = [await freePort(), await freePort()];
  const operatorUrl = `http://127.0.0.1:${operatorPort}`;
  const metrics = async () => (await fetch(`${operatorUrl}/metrics`)).text();
  const started = performance.now();
  const child = spawn(program, args, {
    cwd: packageDirectory,
    env: {
      ...process.env,
      LOG_LEVEL: 'warn',
      ...generousLimits,
      ...environment,
      PORT: String(port),
      OPERATOR_PORT: String(operatorPort),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  await untilReady(port, child);
  const readyMs = performance.now() - started;
  running.set(child, metrics);
  child.once('exit', () => running.delete(child));
  return {
    port,
    operatorUrl,
    metrics,
    pid: child.pid ?? 0,
    readyMs,
    stop: () => end(child, 'SIGTERM'),
    // A killed process would write no profile.
    kill: () => end(child, profileDirectory() === undefined ? 'SIGKILL' : 'SIGTERM'),
  };
};

const READY_MS_MAX = 60_000;

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

const untilReady = async (port: number, child: ChildProcess): Promise<void> => {
  const deadline = performance.now() + READY_MS_MAX;
  while (!hasEnded(child) && performance.now() < deadline) {
    const ready = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
    if (ready?.status === 200) return;
    await sleep(10);
  }
  const { exitCode, signalCode } = child;
  await end(child, 'SIGKILL');
  throw new Error(`the service was not ready: status ${exitCode}, signal ${signalCode}`);
};

/** Without a process that reaps orphans, ended processes still appear alive. */
const GROUP_MS_MAX = 10_000;

/** Ends a program and its children: npm ends before the service below it has stopped its Postgres. */
const end = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (hasEnded(child) || child.pid === undefined) return;
  const exited = once(child, 'exit');
  process.kill(-child.pid, signal);
  await exited;
  const deadline = performance.now() + GROUP_MS_MAX;
  while (isGroupAlive(child.pid) && performance.now() < deadline) await sleep(10);
};

const isGroupAlive = (pid: number): boolean => {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
};

/** Creates an account with a key, as an operator does. */
export const createAccount = async (
  environment: Environment,
): Promise<{ customerId: number; apiKey: string }> => {
  const { stdout } = await run(
    process.execPath,
    [shippedProgram('exchange.js'), 'accounts', 'create', '--name', 'Benchmark', '--json'],
    { env: { ...process.env, ...environment } },
  );
  return JSON.parse(stdout) as { customerId: number; apiKey: string };
};
