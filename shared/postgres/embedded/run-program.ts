import { spawn } from 'node:child_process';
import type { UnixUser } from './unprivileged-user.ts';

/** Variables of this process contain secrets, and `PG...` variables change the programs' behaviour. */
const programEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };

const OUTPUT_CHARS_MAX = 4_000;

interface Program {
  readonly path: string;
  readonly args: readonly string[];
  readonly user: UnixUser | undefined;
  /** For secrets: other users can read command lines. */
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** For children of the program that keep the output open. */
  readonly output?: number | undefined;
}

/** @returns the end of its standard error @throws Error with the end of its output */
export const runProgram = async ({
  path,
  args,
  user,
  input = '',
  environment,
  output: file,
}: Program): Promise<string> => {
  const child = spawn(path, args, {
    env: { ...programEnvironment, ...environment },
    cwd: '/',
    stdio: ['pipe', file ?? 'pipe', file ?? 'pipe'],
    ...(user && { uid: user.uid, gid: user.gid }),
  });
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-OUTPUT_CHARS_MAX);
  };
  let errors = '';
  child.stdout?.on('data', keep);
  child.stderr?.on('data', (chunk: Buffer) => {
    keep(chunk);
    errors = (errors + chunk.toString()).slice(-OUTPUT_CHARS_MAX);
  });
  // A program that exits early closes its input. The exit status reports the reason.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const status = await new Promise<number | string | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  if (status !== 0) throw new Error(`${path} failed (${status}): ${output}`);
  return errors;
};
