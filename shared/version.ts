import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageDirectory } from './package-directory.ts';

/** The program's version. */
export const { version } = JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8')) as {
  readonly version: string;
};
