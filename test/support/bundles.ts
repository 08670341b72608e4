import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';

/** A program as it is shipped, e.g. `main.js`. */
export const shippedProgram = (file: string): string => join(packageDirectory, 'dist', 'bundle', file);

/** A program of the tests, e.g. `faults/mutant-main.js`. */
export const testProgram = (file: string): string => join(packageDirectory, 'dist', 'test-bundle', file);
