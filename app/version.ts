import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const above = (directory: string): string => {
  if (existsSync(join(directory, 'package.json'))) return directory;
  if (dirname(directory) === directory) throw new Error('The program must stand below its package.json.');
  return above(dirname(directory));
};

export const packageDirectory = above(import.meta.dirname);

export const { version } = JSON.parse(readFileSync(join(packageDirectory, 'package.json'), 'utf8')) as {
  readonly version: string;
};
