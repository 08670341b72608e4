import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { printed, scriptOf, type Step } from './runnable-page.ts';

export interface RunStepsOptions {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Changes of the script, e.g. of ports. */
  readonly edit: (script: string) => string;
  readonly signal: AbortSignal;
}

/**
 * Runs the steps in one shell, unchanged except for `edit`. Programs that they start in the background end with it.
 * @returns the output of each step @throws Error that names the step which failed
 */
export const runSteps = async (
  steps: readonly Step[],
  { folder, environment, edit, signal }: RunStepsOptions,
): Promise<readonly string[]> => {
  const child = spawn('bash', ['-eu', '-c', edit(scriptOf(steps))], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group, with the programs that the page starts in the background.
    detached: true,
  });
  const killAll = (): void => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // All have ended.
    }
  };
  child.once('exit', killAll);
  // A page may wait for an event that never happens.
  signal.addEventListener('abort', killAll);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  const outputs = printed(stdout);
  if (child.exitCode !== 0) {
    const failed = steps[outputs.length]?.command ?? '';
    throw new Error(
      `status ${child.exitCode ?? 'of a signal'}:\n${failed}\n${stdout.slice(-2_000)}\n${stderr}`,
    );
  }
  return outputs;
};
