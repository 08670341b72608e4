import { accessSync, constants } from 'node:fs';
import { describe } from '@jest/globals';

interface DebianProgram {
  readonly path: string;
  /** Debian's. */
  readonly package: string;
}

const isInstalled = ({ path }: DebianProgram): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** A suite that needs programs of Debian. Without them, its tests are skipped, or fail under `CI=true`. */
export const describeWithPrograms =
  (...programs: readonly DebianProgram[]) =>
  (name: string, tests: () => void): void => {
    const missing = programs.find((one) => !isInstalled(one));
    if (missing !== undefined) {
      const reason = `${missing.path} not found: install Debian's package ${missing.package}`;
      if (process.env['CI'] === 'true') throw new Error(reason);
      console.warn(`${reason}. Not tested: ${name}.`);
    }
    (missing === undefined ? describe : describe.skip)(name, tests);
  };
