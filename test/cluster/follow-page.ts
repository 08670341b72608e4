import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import type { Installation, Settings } from '../containers/deployment.ts';
import { run } from '../containers/docker.ts';
import { operatedIn, secretsOf, writeOverlay } from '../containers/pods.ts';
import { timed } from '../containers/prepare.ts';
import { pushImage, startRegistry } from '../containers/registry.ts';
import {
  say,
  startRun,
  verify,
  whileNoneFails,
  whileWriting,
  writeAndKill,
  type Run,
} from '../containers/write-and-kill.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { stepsOf } from '../support/runnable-page.ts';
import { checkAdmission, checkLimits, checkService } from './checks.ts';
import type { Cluster } from './cluster.ts';
import { drainNode, hangProcess } from './disturb.ts';
import { COMPONENTS, inExchange, podsOf, rolledOut } from './exchange.ts';
import type { Prepared } from './prepared.ts';
import { addressOf } from './stores.ts';

const PAGE = 'docs/deploy/kubernetes.md';
const REGISTRY_PORT = 5_000;
const NODE_PORT = 30_080;

/**
 * What this cluster needs beyond the overlay of the page. Kubernetes 1.20 knows disruption budgets as `v1beta1`, without
 * `unhealthyPodEvictionPolicy`. The node has two CPUs, all of which the pods would reserve. The clients are on the node.
 */
const PATCHES = `  - target: { kind: PodDisruptionBudget }
    options: { allowKindChange: true }
    patch: |
      - { op: replace, path: /apiVersion, value: policy/v1beta1 }
      - { op: remove, path: /spec/unhealthyPodEvictionPolicy }
  - target: { kind: Deployment }
    patch: |
      - { op: replace, path: /spec/template/spec/containers/0/resources/requests/cpu, value: 100m }
  - target: { kind: Service }
    patch: |
      - { op: replace, path: /spec/type, value: NodePort }
      - { op: add, path: /spec/ports/0/nodePort, value: ${NODE_PORT} }
`;

/** Runs commands where the page has its reader. */
type Shell = (script: string) => Promise<string>;

const shellIn =
  (folder: string, { environment }: Cluster): Shell =>
  (script) =>
    run('bash', ['-ec', `cd "$0"\n${script}`, folder], environment);

/** The commands of the page: a block, or a line of text, that contains these words. */
const commandOf = async (words: string): Promise<string> => {
  const page = await readFile(join(packageDirectory, PAGE), 'utf8');
  const inline = [...page.matchAll(/: `(kubectl [^`]+)`/g)].map(([, command = '']) => command);
  const found = [...stepsOf(page).map(({ command }) => command), ...inline].find((one) =>
    one.includes(words),
  );
  if (found === undefined) throw new Error(`${PAGE} has no command with ${words}`);
  return found;
};

const installationOf = (cluster: Cluster): Installation => {
  const { kubectl } = cluster;
  return {
    // The one by which the checks find the events.
    containers: ['buyer-exchange-eventstore-1'],
    operate: (...words) =>
      kubectl(
        ...inExchange,
        'exec',
        `deploy/${operatedIn(words)}`,
        '--',
        'node',
        'dist/bundle/exchange.js',
        ...words,
      ),
    addressOf: (container) => addressOf(cluster, container.replace(/^buyer-exchange-(\w+)-1$/, '$1')),
    kill: async (pod) => {
      const startedMs = performance.now();
      await kubectl(...inExchange, 'delete', 'pod', pod);
      await rolledOut(cluster);
      return performance.now() - startedMs;
    },
  };
};

/** Follows docs/deploy/kubernetes.md, also while clients write. @throws Error */
export const followPage = async (cluster: Cluster, folder: string, { settings }: Prepared): Promise<void> => {
  const { docker, kubectl } = cluster;
  const registry = await startRegistry(docker, REGISTRY_PORT);
  const place = join(folder, 'kubernetes');
  const secrets = secretsOf(settings, (store) => `${store}.stores`);
  const overlay = (more: Settings = {}): Promise<void> =>
    writeOverlay({
      folder: place,
      registry,
      settings: { ...generousLimits, ...more },
      secrets,
      patches: PATCHES,
    });
  const shell = shellIn(place, cluster);
  await timed('the image through a registry', () => pushImage(docker, `${registry}/buyer-exchange:0.2.0`));
  await overlay();
  await timed('install', async () => say(await shell(await commandOf('create namespace'))));
  await rolledOut(cluster);
  await cluster.updateNames();
  say(await kubectl(...inExchange, 'get', 'all,networkpolicies,poddisruptionbudgets'));
  await shell('kubectl diff -k my-exchange');
  await timed('what is in force', async () => {
    await checkService(cluster);
    await checkAdmission(cluster);
    await checkLimits(cluster);
  });
  const current = await startRun(installationOf(cluster), settings, NODE_PORT);
  await timed('a changed setting', async () => {
    await overlay({ LOG_LEVEL: 'warn' });
    await changeSetting(cluster, current, shell);
  });
  await timed('a new version', async () => {
    const image = `${registry}/buyer-exchange:0.2.1`;
    await pushImage(docker, image);
    await upgrade(cluster, current, shell, image, place);
  });
  await timed('each pod is deleted', async () => writeAndKill(current, folder, await podsOf(cluster)));
  await timed('a process hangs', () =>
    whileWriting(current, 'h', async (more) => {
      await hangProcess(cluster);
      await more();
    }),
  );
  await timed('a drain', () =>
    whileNoneFails(current, 'd', async (more) => {
      await drainNode(cluster, await commandOf('kubectl drain'));
      await more();
    }),
  );
  await rolledOut(cluster);
  await verify(current, folder);
};

const changeSetting = async (cluster: Cluster, current: Run<Installation>, shell: Shell): Promise<void> => {
  const commands = await commandOf('rollout restart');
  await whileNoneFails(current, 's', async (more) => {
    say(await shell(commands));
    await rolledOut(cluster);
    await more();
  });
  for (const component of COMPONENTS) {
    const level = await cluster.kubectl(
      ...inExchange,
      'exec',
      `deploy/${component}`,
      '--',
      'printenv',
      'LOG_LEVEL',
    );
    if (level !== 'warn') throw new Error(`${component}: LOG_LEVEL is ${level}`);
  }
};

const upgrade = async (
  cluster: Cluster,
  current: Run<Installation>,
  shell: Shell,
  image: string,
  place: string,
): Promise<void> => {
  const file = join(place, 'my-exchange/kustomization.yaml');
  const [, tag = ''] = /:([^:]+)$/.exec(image) ?? [];
  await writeFile(file, (await readFile(file, 'utf8')).replace(/newTag: .*/, `newTag: ${tag}`));
  const commands = await commandOf('delete job');
  await whileNoneFails(current, 'u', async (more) => {
    say(await shell(commands));
    await rolledOut(cluster);
    await more();
  });
  const path = 'jsonpath={.items[*].spec.containers[0].image}';
  const images = (await cluster.kubectl(...inExchange, 'get', 'pods', '--output', path)).split(' ');
  if (images.some((one) => one !== image)) throw new Error(`not ${image}: ${images.join(', ')}`);
};
