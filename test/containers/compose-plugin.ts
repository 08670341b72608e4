import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './docker.ts';

/** The release of Debian with Compose v2. The one before has only the older program, which does not read our files. */
const SUITE = 'trixie';
const KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Fetches Compose from Debian, apart from the packages of this machine, and keeps it in the folder.
 * @returns a folder for `DOCKER_CONFIG`, with which `docker compose` runs it
 */
export const fetchCompose = async (folder: string): Promise<string> => {
  const [apt, files, config] = ['apt', 'compose', 'docker-config'].map((name) => join(folder, name));
  if (apt === undefined || files === undefined || config === undefined) throw new Error('unreachable');
  const plugin = join(config, 'cli-plugins/docker-compose');
  if (existsSync(plugin)) return config;
  for (const path of ['state/lists/partial', 'cache/archives/partial'])
    await mkdir(join(apt, path), { recursive: true });
  await writeFile(
    join(apt, 'sources.list'),
    `deb [signed-by=${KEYS}] http://deb.debian.org/debian ${SUITE} main\n`,
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
  const words = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await run('apt-get', [...words, 'update']);
  await run('sh', ['-c', 'cd "$0" && apt-get "$@" download docker-compose', apt, ...words]);
  const [archive = ''] = (await readdir(apt)).filter((name) => name.endsWith('.deb'));
  await rm(files, { recursive: true, force: true });
  await run('dpkg-deb', ['--extract', join(apt, archive), files]);
  const program = await run('find', [
    files,
    '-name',
    'docker-compose',
    '-type',
    'f',
    '-perm',
    '-u=x',
    '-size',
    '+1M',
  ]);
  await mkdir(join(config, 'cli-plugins'), { recursive: true });
  await symlink(program, plugin);
  return config;
};
