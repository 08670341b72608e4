import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readConfig } from '../../app/config.ts';
import { packageDirectory } from '../../app/version.ts';
import { checkHistory, type Findings } from '../faults/kit/checker.ts';
import { runClient } from '../faults/kit/client.ts';
import { emptyHistory, type History, type Operation } from '../faults/kit/history.ts';
import { referencedStoresOf } from '../faults/kit/partial-writes.ts';
import { createRandom } from '../faults/kit/random.ts';
import { today } from '../faults/crash-run.ts';
import { freePort } from '../support/free-port.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import type { ComposeFile, Settings } from './compose-file.ts';
import { clean, composeFileOf, deploy, type Deployment } from './deployment.ts';
import { run, startDocker, until } from './docker.ts';
import { makeImages, type ImageNames } from './images.ts';

/**
 * `npm run test:containers`: builds the image, starts `docker-compose.yml` in containers, and kills each container while
 * clients write through the balancer. Exits with status 1 if a write is lost or doubled, or anything else is found.
 *
 * The containers run the files that operators run, except Compose itself and the published images, which a registry
 * serves: see images.ts for what takes their places.
 */

/** Docker's layers need a folder on a disk. It keeps the base system and the images for the next run. */
const FOLDER = '/var/tmp/buyer-exchange-containers';
const CLIENTS = 8;
/** After each kill, once the container is healthy. */
const COMMANDS_BETWEEN = 40;
const SEED = 1;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** The operator's `.env`, with limits that the clients do not reach. */
const makeSettings = async (port: number): Promise<Settings> => {
  const text = await run('sh', [join(packageDirectory, 'deploy/create-env.sh'), 'https://api.example.com']);
  const certificates = join(FOLDER, 'certificates');
  await mkdir(certificates, { recursive: true });
  return {
    ...Object.fromEntries(text.split('\n').map((line) => line.split('=', 2))),
    ...generousLimits,
    PUBLISHED_ADDRESS: '127.0.0.1',
    PUBLISHED_PORT: String(port),
    CERTIFICATES: certificates,
  };
};

/** @returns the names that stand-ins take: those that the files of the checkout name */
const imageNamesOf = async ({ services }: ComposeFile): Promise<ImageNames> => {
  const imageOf = (service: string): string => services[service]?.image ?? '';
  const dockerfile = await readFile(join(packageDirectory, 'Dockerfile'), 'utf8');
  const [, node = ''] = /^FROM (\S+)/m.exec(dockerfile) ?? [];
  if (!node.startsWith(`node:${process.versions.node.split('.')[0]}-`)) {
    throw new Error(
      `this is Node.js ${process.versions.node}, not that of ${node}: use npm run test:containers`,
    );
  }
  return {
    node,
    balancer: imageOf('balancer'),
    postgres: imageOf('postgres'),
    redis: imageOf('redis'),
    eventstore: imageOf('eventstore'),
  };
};

interface Phase {
  readonly container: string;
  readonly awayMs: number;
  readonly operations: readonly Operation[];
}

/** Kills one container after the other. Each phase has the operations that ended in it. */
const killEach = async (
  { containers, kill }: Deployment,
  port: number,
  { operations }: History,
): Promise<readonly Phase[]> => {
  const phases: Phase[] = [];
  const more = async (): Promise<void> => {
    const enough = operations.length + COMMANDS_BETWEEN;
    await until('clients write', async () => operations.length >= enough);
  };
  await more();
  for (const container of containers) {
    const from = operations.length;
    const awayMs = await kill(container);
    await until('the service is ready', async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
      return answer?.status === 200;
    });
    await more();
    phases.push({ container, awayMs, operations: operations.slice(from) });
    say(`${container} was killed, and is back after ${Math.round(awayMs / 1_000)} s`);
  }
  return phases;
};

/** Writes through the balancer while containers are killed. Compares what clients know with log and read models. */
const writeAndKill = async (deployment: Deployment, settings: Settings, port: number) => {
  const account = JSON.parse(await deployment.operate('accounts', 'create', '--name', 'First', '--json')) as {
    readonly customerId: number;
    readonly apiKey: string;
  };
  const [history, days] = [emptyHistory(), [today()]];
  let going = true;
  const clients = Array.from({ length: CLIENTS }, (_, index) =>
    runClient({
      ...account,
      name: `k${index}`,
      ports: [port],
      // Workers also write campaigns and creatives, so their results would not be predictable.
      areas: ['advertisers'],
      engineId: 0,
      random: createRandom(SEED * 1_000 + index),
      history,
      goOn: () => going,
    }),
  );
  const phases = await killEach(deployment, port, history).finally(() => {
    going = false;
  });
  await Promise.all(clients);
  days.push(today());
  say('the clients have ended; verifying');
  say(await deployment.operate('log', 'seal'));
  say(await deployment.operate('log', 'verify'));
  say(await deployment.operate('read-models', 'verify'));

  const host = (service: string): Promise<string> => deployment.addressOf(`buyer-exchange-${service}-1`);
  const config = readConfig({
    DATABASE_URL: `postgres://exchange:${settings['EXCHANGE_DB_PASSWORD']}@${await host('postgres')}:5432/exchange`,
    EVENTSTORE_URL: `esdb://${await host('eventstore')}:2113?tls=false`,
    SECRET_KEYS: settings['SECRET_KEYS'],
    DATA_DIR: join(FOLDER, 'data'),
  });
  const installation = await openWithLongTimeouts(config, 'containers');
  try {
    const keeps = await referencedStoresOf(config, installation);
    return {
      phases,
      history,
      findings: await checkHistory(history, installation, keeps, [...new Set(days)]),
    };
  } finally {
    await installation.close();
  }
};

/** One row for each container. */
const tableOf = (phases: readonly Phase[], { lost, duplicated }: Findings): string => {
  const row = (cells: readonly (string | number)[]): string =>
    cells.map((cell, index) => (index === 0 ? String(cell).padEnd(30) : String(cell).padStart(14))).join('');
  const named = (list: readonly string[], operations: readonly Operation[]): number =>
    operations.filter(({ key }) => list.some((finding) => finding.includes(`, ${key} (`))).length;
  return [
    row(['killed', 'away, s', 'acknowledged', 'refused*', 'lost', 'doubled']),
    ...phases.map(({ container, awayMs, operations }) =>
      row([
        container,
        Math.round(awayMs / 1_000),
        operations.filter(({ outcome }) => outcome === 'ok').length,
        operations.reduce(
          (sum, { attempts, outcome }) => sum + attempts - (outcome === 'unknown' ? 0 : 1),
          0,
        ),
        named(lost, operations),
        named(duplicated, operations),
      ]),
    ),
    '* attempts without an answer, or with 5xx. Those with a key were repeated until their outcome was known.',
  ].join('\n');
};

const docker = await startDocker(FOLDER);

/** @returns whether nothing was found */
const main = async (): Promise<boolean> => {
  const port = await freePort();
  const settings = await makeSettings(port);
  const file = await composeFileOf(settings);
  say('stand-ins of published images');
  await makeImages(docker, FOLDER, await imageNamesOf(file));
  say('the image');
  await docker('build', '--network', 'host', '--tag', file.services['api']?.image ?? '', packageDirectory);
  say('containers');
  const deployment = await deploy(docker, file);
  say(`${deployment.containers.join(', ')} are healthy`);
  const { phases, history, findings } = await writeAndKill(deployment, settings, port);
  const lists = Object.entries(findings as unknown as Record<string, readonly string[]>);
  say(tableOf(phases, findings));
  say(`${history.operations.length} commands, ${history.replays} replays, ${history.reads} reads`);
  say(lists.map(([kind, list]) => `${kind} ${list.length}`).join(', '));
  for (const [, list] of lists) for (const finding of list.slice(0, 3)) say(finding);
  return lists.every(([, list]) => list.length === 0);
};

let isClean = false;
try {
  isClean = await main();
} catch (error) {
  say(String(error));
} finally {
  await clean(docker).catch((error: unknown) => say(String(error)));
  await docker.stop();
  await rm(join(FOLDER, 'data'), { recursive: true, force: true });
}
process.exit(isClean ? 0 : 1);
