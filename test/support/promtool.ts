import { spawnSync } from 'node:child_process';
import { describe } from '@jest/globals';

export const hasPromtool = (): boolean => spawnSync('promtool', ['--version']).status === 0;

/** A suite that needs `promtool`. Without it, its tests are skipped, or fail under `CI=true`. */
export const describeWithPromtool = (name: string, tests: () => void): void => {
  const has = hasPromtool();
  if (!has) {
    if (process.env['CI'] === 'true') throw new Error("no promtool: install Debian's package prometheus");
    console.warn(`No promtool, so this is not tested: ${name}. Install Debian's package prometheus.`);
  }
  (has ? describe : describe.skip)(name, tests);
};

/** @returns what it printed @throws Error with its output if it found a problem */
export const promtool = (args: readonly string[], input = ''): string => {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`promtool ${args.join(' ')}:\n${stdout}${stderr}`);
  return stdout;
};
