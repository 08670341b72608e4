import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Command, ServiceState } from './commands.ts';
import { testProgram } from '../bundles.ts';

/** The in-memory EventStoreDB in a separate process. */
export interface EventStoreProcess {
  readonly url: string;
  /** @throws Error if the service rejects the command */
  command(command: Command): Promise<ServiceState>;
  /** @returns the exit code */
  stop(): Promise<number | null>;
  kill(): void;
}

/** Starts main.ts, which also ends with this process. @param args for the program, such as `--port`, `2113` */
export const startEventStoreProcess = async (...args: readonly string[]): Promise<EventStoreProcess> => {
  const main = testProgram('support/eventstoredb/main.js');
  const program = spawn(process.execPath, [main, '--attached', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // The end of the output shows that the program has ended. The broken input adds nothing.
  program.stdin.on('error', () => undefined);
  const exited = once(program, 'exit') as Promise<[number | null]>;
  const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const { done, value } = await lines.next();
    if (done === true) throw new Error('The program has ended.');
    return value;
  };
  const [, url] = /^serving at (esdb:.*)$/u.exec(await line()) ?? [];
  if (url === undefined) throw new Error('The program does not serve.');
  let last: Promise<unknown> = Promise.resolve();
  return {
    url,
    command: (command) => {
      // One command at a time: answers are in the order of the commands and do not name them.
      const answered = last.then(async () => {
        program.stdin.write(`${JSON.stringify(command)}\n`);
        const answer = JSON.parse(await line()) as ServiceState | { error: string };
        if ('error' in answer) throw new Error(answer.error);
        return answer;
      });
      last = answered.catch(() => undefined);
      return answered;
    },
    stop: async () => {
      program.stdin.end();
      const [code] = await exited;
      return code;
    },
    kill: () => void program.kill('SIGKILL'),
  };
};
