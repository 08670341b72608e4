import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';

/** The path of a shipped program, e.g. `main.js`. */
export const shippedProgram = (file: string): string => join(packageDirectory, 'dist', 'bundle', file);

/** The path of a test program, e.g. `faults/mutant-main.js`. */
export const testProgram = (file: string): string => join(packageDirectory, 'dist', 'test-bundle', file);
