import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import { locateBinaries } from '../../shared/postgres/embedded/binaries.ts';
import { run, type Docker } from './docker.ts';

/** How the stand-in of EventStoreDB is started. */
export const EVENTSTORE_COMMAND = ['start-eventstore'] as const;

/** It knows the settings of the cluster, and ignores the others. */
const EVENTSTORE_START = `#!/bin/sh
exec node /usr/local/eventstore.mjs --host 0.0.0.0 --port 2113 --folder /var/lib/eventstore \\
  --seeds "\${EVENTSTORE_GOSSIP_SEED:-}" --advertise "\${EVENTSTORE_NODE_HOST_ADVERTISE_AS:-localhost}" "$@"
`;

/** Stand-ins of published images, by the names that `Dockerfile` and the Compose file use for these. */
export interface ImageNames {
  readonly node: string;
  readonly balancer: string;
  readonly postgres: string;
  readonly redis: string;
  readonly eventstore: string;
}

const PACKAGES = [
  'ca-certificates',
  'caddy',
  'docker-registry',
  'haproxy',
  'memcached',
  'nginx',
  'postgresql-client',
  'redis-server',
  'swift-account',
  'swift-container',
  'swift-object',
  'swift-proxy',
].join(' ');
/** Named by its packages, since it is kept for later runs. */
const BASE = `base-${createHash('sha256').update(PACKAGES).digest('hex').slice(0, 8)}`;
/** For what is outside of the installation. */
export const OUTSIDE_IMAGE = BASE;
/** The build fetches packages from where this machine does, with the authorities that it trusts. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** As the entry point of the published image: a cluster with a password, then the scripts of the operator. */
const POSTGRES_ENTRYPOINT = `#!/bin/sh
set -eu
if [ "$(id -u)" = 0 ]; then
  chown postgres /var/lib/postgresql
  exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb --username=postgres --pwfile=/tmp/password --encoding=UTF8 --locale=C.UTF-8 --auth-local=trust --auth-host=scram-sha-256
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  printf "%s\\n" "listen_addresses = '*'" "unix_socket_directories = '/run/postgresql'" >> "$PGDATA/postgresql.conf"
  pg_ctl --options "-c listen_addresses=''" --wait start
  for script in /docker-entrypoint-initdb.d/*.sh; do [ ! -e "$script" ] || sh "$script"; done
  pg_ctl --mode fast --wait stop
fi
exec "$@"
`;

/** The stand-in has no HTTP. Its health check, which calls curl, learns whether it accepts connections. */
const CURL = `#!/bin/sh
exec node -e "require('net').connect(2113, '127.0.0.1').on('connect', () => process.exit(0)).on('error', () => process.exit(1))"
`;

const dockerfiles = ({ node }: ImageNames): Readonly<Record<keyof ImageNames, readonly string[]>> => ({
  node: [
    `FROM ${BASE}`,
    'COPY . /',
    'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && useradd --uid 1000 --create-home node',
    `ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES} NPM_CONFIG_CAFILE=${CERTIFICATES}`,
    'CMD ["node"]',
  ],
  balancer: [
    `FROM ${BASE}`,
    'USER haproxy',
    'STOPSIGNAL SIGUSR1',
    'CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]',
  ],
  postgres: [
    `FROM ${BASE}`,
    'COPY . /opt/postgres/',
    'RUN useradd --system postgres && install -d -o postgres /var/lib/postgresql /run/postgresql',
    'ENV PATH=/opt/postgres/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/18/docker',
    'VOLUME /var/lib/postgresql',
    'STOPSIGNAL SIGINT',
    'ENTRYPOINT ["docker-entrypoint.sh"]',
    'CMD ["postgres"]',
  ],
  redis: [
    `FROM ${BASE}`,
    'RUN install -d -o redis /data',
    'VOLUME /data',
    'WORKDIR /data',
    'CMD ["redis-server"]',
  ],
  eventstore: [
    `FROM ${node}`,
    'COPY . /usr/local/',
    'RUN install -d -o node /var/lib/eventstore',
    'USER node',
    'VOLUME /var/lib/eventstore',
    `CMD ${JSON.stringify(EVENTSTORE_COMMAND)}`,
  ],
});

/** Fills the folders that are copied into the images. */
const fillContexts = async (folder: string): Promise<void> => {
  const contextOf = (image: keyof ImageNames, path = '.'): string => join(folder, image, path);
  for (const image of ['node', 'balancer', 'postgres', 'redis', 'eventstore'] as const) {
    await rm(contextOf(image), { recursive: true, force: true });
    await mkdir(contextOf(image), { recursive: true });
  }
  // npm sets it for the programs that it runs: test/run.js runs this one in npm, on the Node.js of the image.
  const npm = dirname(dirname(await realpath(process.env['npm_execpath'] ?? '')));
  await cp(npm, contextOf('node', 'usr/local/lib/node_modules/npm'), { recursive: true });
  await mkdir(contextOf('node', 'usr/local/bin'));
  await cp(await realpath(process.execPath), contextOf('node', 'usr/local/bin/node'));
  await cp(CERTIFICATES, contextOf('node', CERTIFICATES));
  const { postgres } = await locateBinaries(undefined);
  await cp(dirname(dirname(postgres)), contextOf('postgres'), { recursive: true, dereference: true });
  await writeFile(contextOf('postgres', 'bin/docker-entrypoint.sh'), POSTGRES_ENTRYPOINT, { mode: 0o755 });
  await mkdir(contextOf('eventstore', 'bin'));
  await writeFile(contextOf('eventstore', 'bin/curl'), CURL, { mode: 0o755 });
  await writeFile(contextOf('eventstore', 'bin/start-eventstore'), EVENTSTORE_START, { mode: 0o755 });
  const require = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;
  await run(join(packageDirectory, 'node_modules/.bin/esbuild'), [
    join(packageDirectory, 'test/support/eventstoredb/main.ts'),
    '--bundle',
    '--platform=node',
    '--format=esm',
    `--banner:js=${require}`,
    '--log-level=error',
    `--outfile=${contextOf('eventstore', 'eventstore.mjs')}`,
  ]);
};

/** A minimal Debian, kept in the folder for later runs. */
const makeBase = async (docker: Docker, folder: string): Promise<void> => {
  const [done, unfinished] = [join(folder, BASE), join(folder, `${BASE}.unfinished`)];
  if (!existsSync(done)) {
    await rm(unfinished, { recursive: true, force: true });
    await run('debootstrap', ['--variant=minbase', 'bookworm', unfinished]);
    // No package may start its program.
    await writeFile(join(unfinished, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
    const install = `apt-get update && apt-get install --yes --no-install-recommends ${PACKAGES} && apt-get clean`;
    await run('chroot', [unfinished, 'sh', '-c', install], { DEBIAN_FRONTEND: 'noninteractive' });
    await rename(unfinished, done);
  }
  if ((await docker('images', '--quiet', BASE)) !== '') return;
  await run('sh', ['-c', 'tar -C "$0" -c . | /usr/bin/docker import - "$1"', done, BASE], docker.environment);
};

/** Makes the stand-ins of Debian's packages, this machine's Node.js, our Postgres and our EventStoreDB in memory. */
export const makeImages = async (docker: Docker, folder: string, names: ImageNames): Promise<void> => {
  await makeBase(docker, folder);
  const contexts = join(folder, 'contexts');
  await fillContexts(contexts);
  for (const [image, lines] of Object.entries(dockerfiles(names))) {
    const file = join(contexts, `${image}.Dockerfile`);
    await writeFile(file, `${lines.join('\n')}\n`);
    const name = names[image as keyof ImageNames];
    await docker('build', '--tag', name, '--file', file, join(contexts, image));
  }
};
