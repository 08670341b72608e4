import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { packageDirectory } from '../../app/version.ts';

const client = join(packageDirectory, 'dist/shared/process/redis-client.js');
const ioredis = join(packageDirectory, 'node_modules/ioredis/built/index.js');

/** Prints the shortest of many measurements in milliseconds, so that other work on the machine does not count. */
const measure = `
  const text = 'order-000000000042-2026-01-31T12:00:00Z';
  const sum = () => {
    let sum = 0;
    for (let round = 0; round < 5000; round += 1) for (let at = 0; at < text.length; at += 1) sum += text.charCodeAt(at);
    return sum;
  };
  let shortest = Infinity;
  for (let round = 0; round < 60; round += 1) {
    const startMs = performance.now();
    sum();
    shortest = Math.min(shortest, performance.now() - startMs);
  }
  console.log(shortest);
`;

/** In a process that has loaded this module alone. */
const millisecondsWith = async (module: string): Promise<number> => {
  const program = `${module === '' ? '' : `await import(${JSON.stringify(module)});`} ${measure}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  return Number(stdout);
};

describe('reading the characters of a text', () => {
  it('is as fast in a process that has loaded the client of Redis as in one that has not', async () => {
    const [bare, withClient, withIoredis] = [
      await millisecondsWith(''),
      await millisecondsWith(client),
      await millisecondsWith(ioredis),
    ];
    expect(withClient / bare).toBeLessThan(1.8);
    // When this fails, ioredis or V8 has changed, and the call in redis-client.ts can go.
    expect(withIoredis / bare).toBeGreaterThan(1.8);
  });
});
