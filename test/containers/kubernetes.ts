import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { fetchKubectl } from './debian-programs.ts';
import { deploy, type Settings } from './deployment.ts';
import type { Docker } from './docker.ts';
import {
  operatedIn,
  podsOf,
  renderManifests,
  secretsOf,
  startService,
  writeOverlay,
  type Manifests,
} from './pods.ts';
import { pushImage, startRegistry } from './registry.ts';
import { createBucket } from './s3-store.ts';
import { say, startRun, verify, whileNoneFails } from './write-and-kill.ts';

const NETWORK = 'buyer-exchange_stores';
const STORES = ['postgres', 'eventstore', 'redis', 's3'] as const;
/** Projectors first: docs/operate/restarts.md. */
const DEPLOYMENTS = ['exchange-projector', 'exchange-api', 'exchange-worker'] as const;

const render = async (parent: string, registry: string, settings: Settings): Promise<Manifests> => {
  const folder = join(parent, 'kubernetes');
  const secrets = secretsOf(settings, (store) => (store === 's3' ? 's3.example.com' : store));
  await writeOverlay({ folder, registry, settings: generousLimits, secrets });
  return renderManifests(await fetchKubectl(parent), folder);
};

/**
 * The commands of docs/deploy/kubernetes.md, with containers in place of pods: the image through a registry, migrations,
 * the first account, and a rollout while clients write, of which no request may fail. @throws Error
 */
export const runPods = async (docker: Docker, folder: string, settings: Settings): Promise<void> => {
  const stores = await deploy(docker, settings, STORES);
  await createBucket(await stores.addressOf('buyer-exchange-s3-1'));
  const [registryPort, port] = [await freePort(), await freePort()];
  const registry = await startRegistry(docker, registryPort);
  const manifests = await render(folder, registry, settings);
  await pushImage(docker, `${registry}/buyer-exchange:0.2.0`);
  const pods = podsOf(docker, manifests, NETWORK);
  say(await pods.migrate());
  for (const line of await pods.rollOut(DEPLOYMENTS)) say(line);
  await startService(docker, NETWORK, port);
  const operate = (...words: readonly string[]): Promise<string> =>
    pods.exec(operatedIn(words), 'node', 'dist/bundle/exchange.js', ...words);
  const current = await startRun({ ...stores, operate }, settings, port);
  await whileNoneFails(current, 'p', async (more) => {
    for (const line of await pods.rollOut(DEPLOYMENTS)) say(line);
    await more();
  });
  await verify(current, folder);
};
