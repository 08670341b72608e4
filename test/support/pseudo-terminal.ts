import { spawn, spawnSync } from 'node:child_process';
import { it } from '@jest/globals';
import { following, type Program } from './program.ts';

const isThere = spawnSync('script', ['--version']).status === 0;
if (!isThere) process.stderr.write('Not tested on a terminal: install `script` (util-linux).\n');

/** A test that needs a terminal. Without the program `script` it is skipped, or fails in CI. */
export const itOnTerminal: typeof it.skip = isThere || process.env['CI'] === 'true' ? it : it.skip;

export interface TerminalProgram extends Program {
  readonly type: (keys: string) => void;
}

/** Runs a program on its own terminal with 100 columns. */
export const startOnTerminal = (
  file: string,
  environment: Readonly<Record<string, string>>,
): TerminalProgram => {
  const command = `stty cols 100; exec "${process.execPath}" "${file}"`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], TERM: 'xterm', SHELL: '/bin/sh', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return { ...following(child), type: (keys) => void child.stdin.write(keys) };
};
