import { fork, type ChildProcess } from 'node:child_process';
import type { ProcessReport, Question, StartMessage } from './report-to-parent.ts';
import { testProgram } from '../support/bundles.ts';

/** A service under attack, in a separate process. If the process has ended, the next question restarts it. */
export interface FuzzTarget {
  readonly port: number;
  readonly baseUrl: string;
  /** @returns the process's report, or how it ended */
  ask(question: Question): Promise<ProcessReport | ProcessEnd>;
  /** The end of the process's output. */
  output(): string;
  stop(): Promise<void>;
}

export interface ProcessEnd {
  readonly ended: string;
}

const OUTPUT_KEPT = 4_000;
const REPORT_MS_MAX = 30_000;
/** The last output arrives shortly after the process ends. */
const OUTPUT_WAIT_MS = 50;

/** @param main the name of the entry file in this folder */
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
  // Not `close`: it is missing if this side closed the channel.
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (status, signal) => {
      const last = (): void =>
        resolve({ ended: `the process ended (${signal ?? `status ${status}`}):\n${output()}` });
      setTimeout(last, OUTPUT_WAIT_MS);
    });
  });
  const first = await Promise.race([nextMessage<StartMessage>(child), ended]);
  if ('ended' in first) throw new Error(first.ended);
  return {
    port: first.port,
    output,
    ask: async (question) => {
      if (!child.connected) return ended;
      const report = nextMessage<ProcessReport>(child);
      child.send(question, ignoreSendError);
      // A process that is too busy to report counts as ended.
      const timer = setTimeout(() => child.kill('SIGKILL'), REPORT_MS_MAX);
      return Promise.race([report, ended]).finally(() => clearTimeout(timer));
    },
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
};

/** A process that has ended reports it by `exit`. */
const ignoreSendError = (): void => undefined;

const nextMessage = <Message>(child: ChildProcess): Promise<Message> =>
  new Promise((resolve) => {
    child.once('message', (message) => resolve(message as Message));
  });

/** The end of stdout and stderr: it shows the cause of a failed request. */
const tailOf = (child: ChildProcess): (() => string) => {
  let text = '';
  const collect = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-OUTPUT_KEPT);
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  return () => text;
};
