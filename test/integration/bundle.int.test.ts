import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { packageDirectory } from '../../app/version.ts';

const run = promisify(execFile);

/** Longer than what `bundle.js` takes two moments to be one. */
const PAST_MS = 150;

let folder: string;
const write = (path: string, text: string): Promise<void> => writeFile(join(folder, path), text);
const bundle = (): Promise<unknown> =>
  run(process.execPath, [join(packageDirectory, 'bundle.js')], { cwd: folder });
const program = (): Promise<string> => readFile(join(folder, 'dist/bundle/main.js'), 'utf8');
/** Bundles. @returns whether it was done at all */
const hasBundled = async (): Promise<boolean> => {
  const made = async () => (await stat(join(folder, 'dist/bundle/main.js'))).ctimeMs;
  const before = await made();
  await bundle();
  return (await made()) !== before;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exchange-bundle-'));
  for (const path of ['app/main.ts', 'cli/exchange.ts', 'demo/sandbox-agent/main.ts', 'demo/tour/main.ts']) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await write(path, 'console.log(1);');
  }
  await write('app/main.ts', `import { text } from './text.ts'; console.log(text);`);
  await write('app/text.ts', `export const text = 'first';`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('bundles what has changed since, and nothing else', async () => {
  await sleep(PAST_MS);
  await bundle();
  expect(await hasBundled()).toBe(false);

  await write('app/text.ts', `export const text = 'other';`);
  expect(await hasBundled()).toBe(true);
  expect(await program()).toContain('other');
  await sleep(PAST_MS);
  await bundle();
  expect(await hasBundled()).toBe(false);

  await rm(join(folder, 'dist/bundle/tour.js'));
  await bundle();
  expect((await stat(join(folder, 'dist/bundle/tour.js'))).size).toBeGreaterThan(0);
  await write('tsconfig.json', '{}');
  expect(await hasBundled()).toBe(true);
});
