import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe } from '@jest/globals';
import type { Release } from './releases.ts';

const run = promisify(execFile);

export interface BuiltRelease {
  /** Its `main.js`. */
  readonly program: string;
  remove(): Promise<void>;
}

/** False in a shallow clone, and where there is no history. */
const isInHistory = ({ commit }: Release): Promise<boolean> =>
  run('git', ['cat-file', '-e', `${commit}^{commit}`]).then(
    () => true,
    () => false,
  );

/** A suite that starts the release. Without its commit, e.g. in sources without a history, its tests are skipped. */
export const describeWithRelease = async (
  release: Release,
): Promise<typeof describe | typeof describe.skip> => {
  if (await isInHistory(release)) return describe;
  const { commit, version } = release;
  process.stderr.write(`the history lacks ${commit}, version ${version}: its tests are skipped\n`);
  return describe.skip;
};

/** The release's own sources, packages and bundler, in a temporary folder. */
export const buildRelease = async ({ version, commit }: Release): Promise<BuiltRelease> => {
  const folder = await mkdtemp(join(tmpdir(), `exchange-${version}-`));
  const archive = join(folder, 'sources.tar');
  await run('git', ['archive', `--output=${archive}`, commit, '--', '.', ':(exclude)test']);
  await run('tar', ['-xf', archive, '-C', folder]);
  if (await hasSamePackages(folder)) await symlink(resolve('node_modules'), join(folder, 'node_modules'));
  else await run('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder });
  await run(process.execPath, ['bundle.js'], { cwd: folder });
  return {
    program: join(folder, 'dist/bundle/main.js'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
};

interface Lock {
  readonly packages: Readonly<Record<string, object>>;
}

const packagesOf = async (folder: string): Promise<string> => {
  const { packages } = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8')) as Lock;
  return JSON.stringify({ ...packages, '': { ...packages[''], version: undefined } });
};

const hasSamePackages = async (folder: string): Promise<boolean> =>
  (await packagesOf(folder)) === (await packagesOf('.'));
