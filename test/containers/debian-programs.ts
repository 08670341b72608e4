import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './docker.ts';

/** The release of Debian with Compose v2. The one before has only the older program, which does not read our files. */
const SUITE = 'trixie';
const KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Fetches Compose, apart from the packages of this machine, and keeps it in the folder.
 * @returns a folder for `DOCKER_CONFIG`, with which `docker compose` runs it
 */
export const fetchCompose = async (folder: string): Promise<string> => {
  const config = join(folder, 'docker-config');
  const plugin = join(config, 'cli-plugins/docker-compose');
  if (existsSync(plugin)) return config;
  const program = await fetchProgram(folder, 'docker-compose', 'docker-compose');
  await mkdir(join(config, 'cli-plugins'), { recursive: true });
  await symlink(program, plugin);
  return config;
};

/** The same. @returns the path of `kubectl` */
export const fetchKubectl = (folder: string): Promise<string> => fetchProgram(folder, 'kubectl', 'kubectl');

/** @returns the path of a large program of a package, which needs no others */
const fetchProgram = async (folder: string, name: string, program: string): Promise<string> => {
  const [apt, files] = [join(folder, 'apt'), join(folder, 'packages', name)];
  if (!existsSync(files)) {
    await mkdir(join(folder, 'packages'), { recursive: true });
    await rm(`${files}.unfinished`, { recursive: true, force: true });
    const archive = await download(apt, 'deb', SUITE, ['download', name]);
    await run('dpkg-deb', ['--extract', archive, `${files}.unfinished`]);
    await rename(`${files}.unfinished`, files);
  }
  return run('find', [files, '-name', program, '-type', 'f', '-perm', '-u=x', '-size', '+1M']);
};

/**
 * Fetches the source of a package of Debian 12, where the programs come from that later releases no longer have.
 * @returns the path of its description, for `dpkg-source`
 */
export const fetchSource = (folder: string, name: string): Promise<string> =>
  download(join(folder, 'apt-source'), 'deb-src', 'bookworm', ['source', '--download-only', name]);

/** @returns the path of the package */
const download = async (
  apt: string,
  kind: 'deb' | 'deb-src',
  suite: string,
  command: readonly string[],
): Promise<string> => {
  for (const path of ['state/lists/partial', 'cache/archives/partial'])
    await mkdir(join(apt, path), { recursive: true });
  await writeFile(
    join(apt, 'sources.list'),
    `${kind} [signed-by=${KEYS}] http://deb.debian.org/debian ${suite} main\n`,
  );
  await writeFile(join(apt, 'status'), '');
  const options = {
    'Dir::Etc::SourceList': join(apt, 'sources.list'),
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::State': join(apt, 'state'),
    'Dir::State::status': join(apt, 'status'),
    'Dir::Cache': join(apt, 'cache'),
    'APT::Sandbox::User': 'root',
  };
  const words = Object.entries(options).flatMap(([option, value]) => ['-o', `${option}=${value}`]);
  await run('apt-get', [...words, 'update']);
  await run('sh', ['-c', 'cd "$0" && exec apt-get "$@"', apt, ...words, ...command]);
  const name = command.at(-1) ?? '';
  const suffix = kind === 'deb' ? '.deb' : '.dsc';
  const [archive = ''] = (await readdir(apt)).filter(
    (file) => file.startsWith(`${name}_`) && file.endsWith(suffix),
  );
  return join(apt, archive);
};
