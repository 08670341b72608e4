import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { packageDirectory } from '../../app/version.ts';

const client = join(packageDirectory, 'dist/shared/process/redis-client.js');
const ioredis = join(packageDirectory, 'node_modules/ioredis/built/index.js');

/** Whether V8 keeps `String.prototype` in its fast form, asked of V8 itself in a process that has loaded these modules. */
const fastWith = async (...modules: string[]): Promise<boolean> => {
  const imports = modules.map((module) => `await import(${JSON.stringify(module)});`).join(' ');
  const program = `${imports} console.log(%HasFastProperties(String.prototype));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--allow-natives-syntax',
    '--input-type=module',
    '--eval',
    program,
  ]);
  return JSON.parse(stdout) as boolean;
};

describe('reading the characters of a text', () => {
  it('is as fast in a process that has loaded the client of Redis as in one that has not', async () => {
    expect(await fastWith()).toBe(true);
    expect(await fastWith(client)).toBe(true);
    // When this fails, ioredis or V8 has changed, and the call in redis-client.ts can go.
    expect(await fastWith(ioredis)).toBe(false);
  });
});
