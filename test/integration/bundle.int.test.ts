import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { packageDirectory } from '../../app/version.ts';

const run = promisify(execFile);
const INSTALLED = 'node_modules/.package-lock.json';

/** Longer than the time difference that `bundle.js` ignores. */
const PAST_MS = 150;

let folder: string;
const write = (path: string, text: string): Promise<void> => writeFile(join(folder, path), text);
const install = (packages: object): Promise<void> => write(INSTALLED, JSON.stringify({ packages }));
const bundle = (): Promise<unknown> =>
  run(process.execPath, [join(packageDirectory, 'bundle.js')], { cwd: folder });
const program = (): Promise<string> => readFile(join(folder, 'dist/bundle/main.js'), 'utf8');
/** Runs the bundler. @returns whether it wrote a new bundle */
const hasBundled = async (): Promise<boolean> => {
  const made = async () => (await stat(join(folder, 'dist/bundle/main.js'))).ctimeMs;
  const before = await made();
  await bundle();
  return (await made()) !== before;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exchange-bundle-'));
  for (const path of ['app/main.ts', 'cli/main.ts', 'demo/sandbox-agent/main.ts', 'demo/tour/main.ts']) {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await write(path, 'console.log(1);');
  }
  await write('app/main.ts', `import { text } from './text.ts'; console.log(text);`);
  await write('app/text.ts', `export const text = 'first';`);
  await write(
    'package.json',
    JSON.stringify({ engines: { node: '>=20.19' }, dependencies: { pino: '1.2.3' } }),
  );
  await mkdir(join(folder, 'node_modules'));
  await install({ 'node_modules/pino': { version: '1.2.3' } });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('bundles only after a change', async () => {
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

describe('a mistake results in one sentence', () => {
  const refusal = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = (await run(process.execPath, [...args], { cwd: folder }).catch(
      (error: unknown) => error,
    )) as { code?: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  };
  const refuses = (sentence: string) => ({ code: 1, stdout: '', stderr: `${sentence}\n` });
  const bundler = join(packageDirectory, 'bundle.js');

  it('packages are not installed', async () => {
    await rm(join(folder, INSTALLED));
    expect(await refusal(bundler)).toEqual(
      refuses('The dependencies are not installed: run `npm ci` first.'),
    );
  });

  it('the packages belong to another version of the project', async () => {
    await install({ 'node_modules/pino': { version: '1.2.2' } });
    expect(await refusal(bundler)).toEqual(
      refuses('Dependencies are missing or have another version (pino 1.2.3): run `npm ci`.'),
    );
  });

  it('the bundler is not installed', async () => {
    await install({ 'node_modules/pino': { version: '1.2.3' } });
    await copyFile(bundler, join(folder, 'bundle.js'));
    expect(await refusal(join(folder, 'bundle.js'))).toEqual(
      refuses(
        'The program must be bundled, and the bundler esbuild is not installed: run `npm ci` without `--omit=optional`.',
      ),
    );
  });

  it.each([
    ['18.20.8', true],
    ['20.9.0', true],
    ['20.19.0', false],
    ['24.1.0', false],
  ])('Node %s is refused: %s', async (version, isRefused) => {
    const versions = `{ value: { ...process.versions, node: '${version}' } }`;
    const older = `data:text/javascript,Object.defineProperty(process, 'versions', ${versions})`;
    expect(await refusal('--import', older, bundler)).toEqual(
      isRefused
        ? refuses(
            `This is Node ${version}, but Node 20.19 or newer is needed: install it from https://nodejs.org.`,
          )
        : { code: undefined, stdout: '', stderr: '' },
    );
  });
});
