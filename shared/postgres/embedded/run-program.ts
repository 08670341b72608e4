import { spawn } from 'node:child_process';
import type { UnixUser } from './unprivileged-user.ts';

/** Postgres' programs get no environment of ours: no secrets, and no `PG...` variable that would bend them. */
const programEnvironment = { PATH: '/usr/bin:/bin', LC_ALL: 'C' };

/** Output kept for the error message. */
const OUTPUT_CHARS_MAX = 4_000;

interface Program {
  readonly path: string;
  readonly args: readonly string[];
  readonly user: UnixUser | undefined;
  /** Written to its standard input: the place for secrets, which others could read on a command line. */
  readonly input?: string;
  /** Besides what every program gets. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Descriptor of a file for its output, for a program whose children keep it open. Default: kept for the error. */
  readonly output?: number | undefined;
}

/**
 * Runs a program to its end.
 * @returns what it wrote to standard error
 * @throws Error with the end of its output when it cannot be run or fails
 */
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
  // A program that ends early closes its input; its exit status says why.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const status = await new Promise<number | string | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  if (status !== 0) throw new Error(`${path} failed (${status}): ${output}`);
  return errors;
};
