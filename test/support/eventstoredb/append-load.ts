import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { testProgram } from '../bundles.ts';

/** The outcomes of one process's appends. */
export interface AppendLoad {
  readonly accepted: { readonly id: string; readonly stream: string; readonly revision: number }[];
  /** Event ids of definite refusals, which were not repeated. */
  readonly refused: string[];
  /** Errors that no append may have. */
  readonly failed: string[];
  /** Unknown outcomes that a repeat of the append resolved. */
  unknown: number;
}

/** A command with the result in its answer. */
export interface DoneCommand {
  readonly commandId: string;
  readonly stream: string;
  readonly revision: number;
  /** From its event: the number of events in the stream up to it, and the run of the command that appended it. */
  readonly count: number;
  readonly run: string;
}

/** The outcomes of one process's commands. */
export interface CommandLoad {
  readonly done: DoneCommand[];
  /** Keys of commands that were definitely not executed and not repeated. */
  readonly givenUp: string[];
  /** Errors that no command may have, and answers that differ. */
  readonly failed: string[];
  /** Unknown outcomes that a repeat of the command resolved. */
  unknown: number;
  /** How often an append was read back because the command may have run before. */
  readBack: number;
}

export interface RunningLoad<Load> {
  /** The exit code or signal of a process that ended by itself; undefined while it runs. */
  readonly ended: number | string | undefined;
  /** @throws Error if the process has ended */
  stop(): Promise<Load>;
  kill(): void;
}

/** Starts append-load-process.ts. */
export const startAppendLoad = (url: string, workers: number): Promise<RunningLoad<AppendLoad>> =>
  startLoad('append-load-process.js', [url, String(workers)]);

/**
 * A planted defect of command-load-process.ts: a command reports that its append cannot be a repeat, although it can.
 */
export const REPEAT_TREATED_AS_FIRST = 'repeat-treated-as-first';

/** Starts command-load-process.ts. @param databaseUrl a migrated database for its claims @param defect default: none */
export const startCommandLoad = (
  url: string,
  workers: number,
  databaseUrl: string,
  defect = '',
): Promise<RunningLoad<CommandLoad>> =>
  startLoad('command-load-process.js', [url, String(workers), databaseUrl, defect]);

const startLoad = async <Load>(file: string, args: readonly string[]): Promise<RunningLoad<Load>> => {
  const program = spawn(process.execPath, [testProgram(`support/eventstoredb/${file}`), ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let ended: number | string | undefined;
  program.on('exit', (code, signal) => {
    ended = code ?? signal ?? 'gone';
  });
  await once(program, 'message');
  return {
    get ended() {
      return ended;
    },
    stop: async () => {
      const answered = once(program, 'message') as Promise<[Load]>;
      const gone = once(program, 'exit').then(() => {
        throw new Error('The process has ended before it reported the outcome of its appends.');
      });
      program.send('stop');
      const [outcome] = await Promise.race([answered, gone]);
      gone.catch(() => undefined);
      return outcome;
    },
    kill: () => void program.kill('SIGKILL'),
  };
};
