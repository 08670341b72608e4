import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { packageDirectory } from '../../app/version.ts';
import { freePort } from '../support/free-port.ts';
import { isStarting, scriptOf, stepsOf } from '../support/runnable-page.ts';
import { fetchCompose } from './debian-programs.ts';
import { clean, deploy, deploymentOf, imagesOf, type Deployment, type Settings } from './deployment.ts';
import { run, startDocker } from './docker.ts';
import { EVENTSTORE_COMMAND, makeImages } from './images.ts';
import { createBucket, s3Settings, s3UrlOf, startStore } from './s3-store.ts';
import { runPods } from './kubernetes.ts';
import { imageNamesOf, makeSettings, timed } from './prepare.ts';
import { pushImage, startRegistry } from './registry.ts';
import { stopStore } from './stop-store.ts';
import { prepareOutside, tryWaysIn } from './ways-in.ts';
import { check, say, startRun, verify, whileWriting, writeAndKill, type Run } from './write-and-kill.ts';

/**
 * `npm run test:containers`: builds the image, starts the Compose files, and kills each container while clients write
 * through the balancer. Exits with status 1 if a write is lost or doubled, or anything else is found; also if a store
 * that loses writes is not found out.
 *
 * Everything is what operators run, except the published images, which a registry serves: see images.ts for what takes
 * their places.
 */

/** Docker's layers need a folder on a disk. It keeps the base system and the images for the next run. */
const FOLDER = '/var/tmp/buyer-exchange-containers';
const LOSES_EVERY = 10;

const docker = await startDocker(FOLDER, await fetchCompose(FOLDER));

/** The first requests of a new user, as README.md has them, through the balancer. */
const tryIt = async ({ environment }: Deployment, port: number): Promise<void> => {
  const steps = stepsOf(await readFile(join(packageDirectory, 'README.md'), 'utf8'));
  const script = scriptOf(steps.filter((step) => !isStarting(step)))
    .replaceAll('http://127.0.0.1:3000', `http://127.0.0.1:${port}`)
    .replaceAll('npx exchange', '/usr/bin/docker compose run --rm --no-TTY operator');
  const printed = await run('bash', ['-eu', '-c', script], environment);
  if (!printed.includes('"setBy"')) throw new Error(`the requests of README.md:\n${printed}`);
  say('the requests of README.md are answered');
};

const replaceWhileWriting = async (current: Run, command: 'restart' | 'upgrade'): Promise<void> => {
  const { deployment, settings, history } = current;
  await whileWriting(current, `r${history.operations.length}-`, async () =>
    say(await deployment.script(command)),
  );
  await verify(current, FOLDER);
  const image = `${settings['EXCHANGE_IMAGE'] ?? 'buyer-exchange'}:${settings['EXCHANGE_VERSION'] ?? 'local'}`;
  const running = await docker('ps', '--filter', 'name=-api-', '--format', '{{.Image}}');
  if (running !== [image, image].join('\n')) throw new Error(`not ${image}: ${running}`);
};

/** The next version is in a registry. */
const fromRegistry = async (current: Run): Promise<Run> => {
  const registry = await startRegistry(docker, await freePort());
  const image = { EXCHANGE_IMAGE: `${registry}/buyer-exchange`, EXCHANGE_VERSION: '0.2.0' };
  await pushImage(docker, `${image.EXCHANGE_IMAGE}:${image.EXCHANGE_VERSION}`);
  const settings = { ...current.settings, ...image, PULL: '1' };
  return { ...current, settings, deployment: await deploymentOf(docker, settings) };
};

/** New versions, built here and pulled. */
const upgradeByScript = async (current: Run): Promise<void> => {
  say(await current.deployment.script('check'));
  await replaceWhileWriting(current, 'upgrade');
  await replaceWhileWriting(await fromRegistry(current), 'upgrade');
};

/** @returns the backup */
const backUpByScript = async ({ deployment }: Run): Promise<string> => {
  const backup = join(FOLDER, 'backup');
  await rm(backup, { recursive: true, force: true });
  say(await deployment.script('backup', backup));
  say(await deployment.script('drill', backup));
  return backup;
};

/** This test must find a store that loses writes. */
const findPlantedDefect = async (current: Run): Promise<void> => {
  const file = join(FOLDER, 'defect.yml');
  const command = [...EVENTSTORE_COMMAND, '--loses-every', String(LOSES_EVERY)];
  await writeFile(file, stringify({ services: { eventstore: { command } } }));
  const { deployment } = current;
  await deployment.compose(
    '-f',
    'docker-compose.yml',
    '-f',
    file,
    'up',
    '--detach',
    '--no-deps',
    'eventstore',
  );
  await whileWriting(current, 'd', async (more) => {
    await more();
    await more();
  });
  const { lost } = await check(current, FOLDER);
  if (lost.length === 0) throw new Error('a store that loses writes was not found out');
  say(`a store that loses writes: ${lost.length} lost writes were found`);
};

/** The distributed profile, with an S3 store. @returns a backup */
const distributed = async (settings: Settings, port: number): Promise<string> => {
  const deployment = await timed('start', () => deploy(docker, settings));
  say(`${deployment.containers.join(', ')} are healthy`);
  await createBucket(await deployment.addressOf('buyer-exchange-s3-1'));
  const current = await startRun(deployment, settings, port);
  await timed('each container is killed', () => writeAndKill(current, FOLDER));
  await timed('a worker hangs', async () => {
    const hungMs = await deployment.hang('buyer-exchange-worker-1');
    say(`it was ended, and is back after ${Math.round(hungMs / 1_000)} s`);
  });
  await timed('upgrades', () => upgradeByScript(current));
  // From here on there are events that the clients know nothing of.
  await timed('README.md', () => tryIt(deployment, port));
  await timed('the ways in, and the tour', () => tryWaysIn(docker, current));
  await timed('the S3 store is away', () => stopStore(docker, current));
  const backup = await timed('backup and drill', () => backUpByScript(current));
  await timed('a store that loses writes', () => findPlantedDefect(current));
  return backup;
};

/** Three nodes of the event store. Each is killed, so the one that leads, too. */
const cluster = async (given: Settings, port: number): Promise<void> => {
  const settings = { ...given, COMPOSE_FILE: 'docker-compose.yml:docker-compose.cluster.yml' };
  const deployment = await deploy(docker, settings);
  const nodes = deployment.containers.filter((name) => name.includes('-eventstore'));
  if (nodes.length !== 3) throw new Error(`not three nodes: ${nodes.join(', ')}`);
  await writeAndKill(await startRun(deployment, settings, port), FOLDER, nodes);
};

const postgresAlone = async (settings: Settings, port: number, backup: string): Promise<void> => {
  const alone = { ...settings, COMPOSE_FILE: 'docker-compose.postgres.yml' };
  const deployment = await deploy(docker, alone);
  say(`${deployment.containers.join(', ')} are healthy`);
  const current = await startRun(deployment, alone, port);
  await writeAndKill(current, FOLDER);
  await replaceWhileWriting(current, 'restart');
  await tryIt(deployment, port);
  // The backup of the other stores, into empty volumes.
  await deployment.compose('down', '--volumes');
  say(await deployment.script('restore', backup));
  say(await deployment.operate('read-models', 'verify'));
};

const main = async (): Promise<void> => {
  const port = await freePort();
  const settings = await makeSettings(FOLDER, port);
  const images = await imagesOf(docker, settings);
  await timed('stand-ins of published images', async () =>
    makeImages(docker, FOLDER, await imageNamesOf(images)),
  );
  await timed('the image', () =>
    docker('build', '--network', 'host', '--tag', images['api'] ?? '', packageDirectory),
  );
  const withOutside = { ...settings, ...(await prepareOutside(FOLDER, settings)), ...s3Settings };
  const backup = await timed('docker-compose.yml', () => distributed(withOutside, port));
  await timed('docker-compose.cluster.yml', () => cluster(settings, port));
  await timed('deploy/kubernetes', () => runPods(docker, FOLDER, withOutside));
  await timed('docker-compose.postgres.yml', () => postgresAlone(settings, port, backup));
  await timed('suites', runSuites);
};

/** Where an engine has the images, the suites need no other Postgres and Redis. */
const runSuites = async (): Promise<void> => {
  await clean(docker);
  const store = await startStore(docker);
  const jest = ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js'];
  const suites = [
    'api/advertisers-create',
    'api/rate-limits.e2e',
    'contract/object-stores',
    'integration/backup.e2e',
  ];
  await run(process.execPath, [...jest, ...suites], {
    ...docker.environment,
    TEST_CONTAINERS: 'true',
    TEST_S3_URL: s3UrlOf(store),
    // It is an image of its own, which removes what a killed run has left.
    TESTCONTAINERS_RYUK_DISABLED: 'true',
  });
  say(
    'suites pass on Postgres and Redis in containers, and on an S3 store, into which backups are moved and restored',
  );
};

let isClean = false;
try {
  await main();
  isClean = true;
} catch (error) {
  say(String(error));
} finally {
  await clean(docker).catch((error: unknown) => say(String(error)));
  await docker.stop();
  for (const name of ['data', 'backup']) await rm(join(FOLDER, name), { recursive: true, force: true });
}
process.exit(isClean ? 0 : 1);
