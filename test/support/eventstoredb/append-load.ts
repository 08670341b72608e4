import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { testProgram } from '../bundles.ts';

/** What came of the appends of one process. */
export interface AppendLoad {
  readonly accepted: { readonly id: string; readonly stream: string; readonly revision: number }[];
  /** Definitely not written, and not sent again: ids of events. */
  readonly refused: string[];
  /** Errors that no append may end with. */
  readonly failed: string[];
  /** Outcomes that were unknown, and were settled by repeating the append. */
  unknown: number;
}

/** A command as its answer says it was done. */
export interface DoneCommand {
  readonly commandId: string;
  readonly stream: string;
  readonly revision: number;
  /** What its event holds: how many events the stream has up to it, and the run of the command that appended it. */
  readonly count: number;
  readonly run: string;
}

/** What came of the commands of one process. */
export interface CommandLoad {
  readonly done: DoneCommand[];
  /** Definitely not done, and not sent again: keys of commands. */
  readonly givenUp: string[];
  /** Errors that no command may end with, and answers that differ from each other. */
  readonly failed: string[];
  /** Outcomes that were unknown, and were settled by repeating the command. */
  unknown: number;
  /** How often a command may have run before, so that its append was read back. */
  readBack: number;
}

export interface RunningLoad<Load> {
  /** Code or signal with which the process has ended by itself; undefined while it runs. */
  readonly ended: number | string | undefined;
  /** @throws when the process is gone */
  stop(): Promise<Load>;
  kill(): void;
}

/** Starts append-load-process.ts. */
export const startAppendLoad = (url: string, workers: number): Promise<RunningLoad<AppendLoad>> =>
  startLoad('append-load-process.js', [url, String(workers)]);

/** A planted defect of command-load-process.ts: a command says that its append cannot be a repeat, although it can. */
export const REPEAT_TAKEN_FOR_THE_FIRST = 'repeat-taken-for-the-first';

/** Starts command-load-process.ts. @param databaseUrl a migrated database for its claims @param defect none if absent */
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
        throw new Error('The process has ended before it said what came of its appends.');
      });
      program.send('stop');
      const [outcome] = await Promise.race([answered, gone]);
      gone.catch(() => undefined);
      return outcome;
    },
    kill: () => void program.kill('SIGKILL'),
  };
};
