import { fork, type ChildProcess } from 'node:child_process';
import type { ProcessReport, Question, Started } from './report-to-parent.ts';
import { testProgram } from '../support/bundles.ts';

/** A service under attack, in a process of its own. One that ends is started again with the next question. */
export interface FuzzTarget {
  readonly port: number;
  readonly baseUrl: string;
  /** Asks how it is. @returns its report; or how it ended, when it has ended since it was last asked */
  ask(question: Question): Promise<ProcessReport | Ended>;
  /** The last of what it printed. */
  output(): string;
  stop(): Promise<void>;
}

export interface Ended {
  readonly ended: string;
}

const OUTPUT_KEPT = 4_000;
const REPORT_MS_MAX = 30_000;
/** What a process printed last arrives a moment after its end. */
const OUTPUT_WAIT_MS = 50;

/** @param main the file beside this one that is its entry */
export const startTarget = async (
  main: string,
  environment: Readonly<Record<string, string>>,
): Promise<FuzzTarget> => {
  const start = () => startProcess(testProgram(`fuzz/${main}`), environment);
  let running = await start();
  return {
    get port() {
      return running.port;
    },
    get baseUrl() {
      return `http://127.0.0.1:${running.port}`;
    },
    ask: async (question) => {
      const report = await running.ask(question);
      if ('ended' in report) running = await start();
      return report;
    },
    output: () => running.output(),
    stop: () => running.stop(),
  };
};

type RunningProcess = Omit<FuzzTarget, 'baseUrl'>;

const startProcess = async (
  file: string,
  environment: Readonly<Record<string, string>>,
): Promise<RunningProcess> => {
  const child = fork(file, {
    env: { PATH: process.env['PATH'], ...environment },
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const output = tailOf(child);
  // Not `close`: it does not come when the channel between the two was closed from this side.
  const ended = new Promise<Ended>((resolve) => {
    child.once('exit', (status, signal) => {
      const last = (): void =>
        resolve({ ended: `the process ended (${signal ?? `status ${status}`}):\n${output()}` });
      setTimeout(last, OUTPUT_WAIT_MS);
    });
  });
  const first = await Promise.race([nextMessage<Started>(child), ended]);
  if ('ended' in first) throw new Error(first.ended);
  return {
    port: first.port,
    output,
    ask: async (question) => {
      if (!child.connected) return ended;
      const report = nextMessage<ProcessReport>(child);
      child.send(question, gone);
      // A process that is too busy to say how it is counts as gone.
      const timer = setTimeout(() => child.kill('SIGKILL'), REPORT_MS_MAX);
      return Promise.race([report, ended]).finally(() => clearTimeout(timer));
    },
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
};

/** One that has ended says so by `exit`. */
const gone = (): void => undefined;

const nextMessage = <Message>(child: ChildProcess): Promise<Message> =>
  new Promise((resolve) => {
    child.once('message', (message) => resolve(message as Message));
  });

/** The last lines of what a process prints, on both streams: a failed request's cause is there. */
const tailOf = (child: ChildProcess): (() => string) => {
  let text = '';
  const collect = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-OUTPUT_KEPT);
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  return () => text;
};
