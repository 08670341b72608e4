import { spawn, type ChildProcess } from 'node:child_process';
import { Writable, type Readable } from 'node:stream';
import type { Installation } from '../../app/installation.ts';
import type { Tools } from '../../cli/command.ts';
import { createProgram } from '../../cli/program.ts';
import { runCommand } from '../../cli/run-command.ts';
import { shippedProgram } from './bundles.ts';

export interface ProcessResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<Record<string, string>>;

const start = (program: string, args: readonly string[], environment: Environment) =>
  spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });

const collecting = (): { readonly stream: Writable; readonly text: () => string } => {
  let text = '';
  const stream = new Writable({
    write: (chunk, _, done) => {
      text += String(chunk);
      done();
    },
  });
  return { stream, text: () => text };
};

/** Runs an operator's command in this process, which is faster than a new process. */
export const exchange = async (args: readonly string[], environment: Environment): Promise<ProcessResult> => {
  // A failpoint may end the process.
  if (environment['EXCHANGE_FAILPOINTS'] !== undefined) return exchangeApart(args, environment);
  const [stdout, stderr] = [collecting(), collecting()];
  const status = await runCommand(args, { environment, stdout: stdout.stream, stderr: stderr.stream });
  return { status, stdout: stdout.text(), stderr: stderr.text() };
};

/** The output of a command: for programs, and for people. */
export interface PrintedValue {
  readonly value: object;
  readonly text: string | undefined;
}

/**
 * Runs an operator's command on open stores.
 * @throws Error for wrong arguments, or from the command
 */
export const operate = async (
  words: readonly string[],
  installation: () => Promise<Installation>,
): Promise<readonly PrintedValue[]> => {
  const printed: PrintedValue[] = [];
  const unused = (): never => {
    throw new Error('these commands do not use it');
  };
  const tools: Tools = {
    config: unused,
    installation,
    isJson: () => true,
    print: (value, text) => printed.push({ value, text }),
    remark: unused,
    withProgress: unused,
    fail: unused,
  };
  const silent = { writeOut: () => undefined, writeErr: () => undefined };
  await createProgram(tools, silent).parseAsync(words, { from: 'user' });
  return printed;
};

/** Runs the shipped program in a separate process. */
export const exchangeApart = (args: readonly string[], environment: Environment): Promise<ProcessResult> =>
  new Promise((resolve, reject) => {
    const child = start(shippedProgram('exchange.js'), args, environment);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, stdout, stderr }));
  });

interface Outputs {
  readonly stdout: Readable;
  readonly stderr: Readable;
}

export interface Program {
  /** All output so far, of both streams. */
  output(): string;
  /** Resolves when the output matches. Rejects if the program ends first. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  end(signal: NodeJS.Signals): Promise<number | null>;
  readonly ended: Promise<number | null>;
}

/** Starts the service as `npm start` does. @param program that of another version */
export const startProgram = (environment: Environment, program = shippedProgram('main.js')): Program =>
  following(start(program, [], environment));

/** Starts an operator's command, to observe and interrupt it. */
export const startExchange = (args: readonly string[], environment: Environment): Program =>
  following(start(shippedProgram('exchange.js'), args, environment));

/** Collects the output of a program. */
export const following = (child: Pick<ChildProcess, 'kill' | 'once'> & Outputs): Program => {
  let text = '';
  const listeners = new Set<() => void>();
  const collect = (chunk: Buffer): void => {
    text += chunk.toString();
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (status) => resolve(status));
  });
  return {
    output: () => text,
    ended,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const match = pattern.exec(text);
          if (match !== null) finish(() => resolve(match));
        };
        const finish = (settle: () => void): void => {
          listeners.delete(look);
          settle();
        };
        listeners.add(look);
        void ended.then(() => finish(() => reject(new Error(`the program ended first:\n${text}`))));
        look();
      }),
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
};
