import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { fetchKubectl } from './debian-programs.ts';
import { deploy, type Settings } from './deployment.ts';
import type { Docker } from './docker.ts';
import { podsOf, renderManifests, startService, type Manifests } from './pods.ts';
import { pushImage, startRegistry } from './registry.ts';
import { createBucket, s3Settings } from './s3-store.ts';
import { say, startRun, verify, whileWriting } from './write-and-kill.ts';

const NETWORK = 'buyer-exchange_stores';
const STORES = ['postgres', 'eventstore', 'redis', 's3'] as const;
/** Projectors first: docs/operate/restarts.md. */
const DEPLOYMENTS = ['exchange-projector', 'exchange-api', 'exchange-worker'] as const;

const render = async (folder: string, registry: string, settings: Settings): Promise<Manifests> =>
  renderManifests({
    kubectl: await fetchKubectl(folder),
    folder: join(folder, 'kubernetes'),
    registry,
    settings: generousLimits,
    secrets: {
      DATABASE_URL: `postgres://exchange:${settings['EXCHANGE_DB_PASSWORD']}@postgres:5432/exchange`,
      EVENTSTORE_URL: 'esdb://eventstore:2113?tls=false',
      REDIS_URL: `redis://:${settings['REDIS_PASSWORD']}@redis:6379/0`,
      SECRET_KEYS: settings['SECRET_KEYS'] ?? '',
      LOG_SIGNING_KEYS: settings['LOG_SIGNING_KEYS'] ?? '',
      ASSET_STORE_URL: s3Settings['ASSET_STORE_URL'] ?? '',
    },
  });

/**
 * The commands of docs/deploy/kubernetes.md, with containers in place of pods: the image through a registry, migrations,
 * the first account, and a rollout while clients write, of which no request may fail. @throws Error
 */
export const runPods = async (docker: Docker, folder: string, settings: Settings): Promise<void> => {
  const stores = await deploy(docker, settings, STORES);
  await createBucket(await stores.addressOf('buyer-exchange-s3-1'));
  const [registryPort, port] = [await freePort(), await freePort()];
  const registry = await startRegistry(docker, registryPort);
  await mkdir(join(folder, 'kubernetes'), { recursive: true });
  const manifests = await render(folder, registry, settings);
  await pushImage(docker, `${registry}/buyer-exchange:0.2.0`);
  const pods = podsOf(docker, manifests, NETWORK);
  say(await pods.migrate());
  for (const line of await pods.rollOut(DEPLOYMENTS)) say(line);
  await startService(docker, NETWORK, port);
  const operate = (...words: readonly string[]): Promise<string> =>
    // The projectors alone have the key that seals the log.
    pods.exec(
      words[0] === 'log' ? 'exchange-projector' : 'exchange-worker',
      'node',
      'dist/bundle/exchange.js',
      ...words,
    );
  const current = await startRun({ ...stores, operate }, settings, port);
  await whileWriting(current, 'p', async (more) => {
    for (const line of await pods.rollOut(DEPLOYMENTS)) say(line);
    await more();
  });
  await verify(current, folder);
  const failed = current.history.operations.filter(({ attempts }) => attempts > 1);
  if (failed.length > 0)
    throw new Error(`${failed.length} requests failed during the rollout: ${JSON.stringify(failed[0])}`);
  say(`${current.history.operations.length} commands during the rollout, each answered at the first attempt`);
};
