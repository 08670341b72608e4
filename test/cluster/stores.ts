import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import type { Settings } from '../containers/deployment.ts';
import { EVENTSTORE_COMMAND, OUTSIDE_IMAGE } from '../containers/images.ts';
import { createBucket } from '../containers/s3-store.ts';
import type { Cluster } from './cluster.ts';
import type { Prepared } from './prepared.ts';

/** The stand-ins of stores as pods of the namespace `stores`, with the names that `secrets.env.example` has. */

const STORES = ['postgres', 'eventstore', 'redis', 's3'] as const;
type Store = (typeof STORES)[number];

interface StorePod {
  readonly image: string;
  readonly port: number;
  readonly command?: readonly string[];
  readonly env?: Settings;
  /** Mounted as a folder, from a ConfigMap of the store. */
  readonly script?: { readonly folder: string; readonly name: string; readonly text: string };
}

const textOf = (path: string): Promise<string> => readFile(join(packageDirectory, path), 'utf8');

const storePods = async (settings: Settings, images: Settings): Promise<Record<Store, StorePod>> => {
  const image = (service: string): string => images[service] ?? '';
  return {
    postgres: {
      image: image('postgres'),
      port: 5_432,
      env: {
        POSTGRES_PASSWORD: settings['POSTGRES_PASSWORD'] ?? '',
        EXCHANGE_DB_PASSWORD: settings['EXCHANGE_DB_PASSWORD'] ?? '',
      },
      script: {
        folder: '/docker-entrypoint-initdb.d',
        name: 'create-database.sh',
        text: await textOf('deploy/create-database.sh'),
      },
    },
    eventstore: { image: image('eventstore'), port: 2_113, command: EVENTSTORE_COMMAND },
    redis: {
      image: image('redis'),
      port: 6_379,
      command: ['redis-server', '--bind', '0.0.0.0', '--requirepass', settings['REDIS_PASSWORD'] ?? ''],
    },
    s3: {
      image: OUTSIDE_IMAGE,
      port: 8_080,
      command: ['sh', '/outside/s3.sh'],
      env: { S3_SECRET: settings['S3_SECRET'] ?? '' },
      script: { folder: '/outside', name: 's3.sh', text: await textOf('test/containers/outside/s3.sh') },
    },
  };
};

const resourcesOf = (
  name: Store,
  { image, port, command, env = {}, script }: StorePod,
): readonly object[] => {
  const metadata = { name, namespace: 'stores' };
  const labels = { store: name };
  const container = {
    name,
    image,
    imagePullPolicy: 'Never',
    ...(command !== undefined && { args: command }),
    env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
    // Otherwise the kernel gives them what the other pods leave.
    resources: { requests: { cpu: '200m' } },
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
    ...(script && { volumeMounts: [{ name: 'script', mountPath: script.folder }] }),
  };
  const volumes = script && { volumes: [{ name: 'script', configMap: { name } }] };
  const template = { metadata: { labels }, spec: { containers: [container], ...volumes } };
  return [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: labels, ports: [{ port }] } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { selector: { matchLabels: labels }, template },
    },
    ...(script
      ? [{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [script.name]: script.text } }]
      : []),
  ];
};

/** The address of the Service of a store. */
export const addressOf = ({ kubectl }: Cluster, store: string): Promise<string> =>
  kubectl('--namespace', 'stores', 'get', 'service', store, '--output', 'jsonpath={.spec.clusterIP}');

export const startStores = async (
  cluster: Cluster,
  folder: string,
  { settings, images }: Prepared,
): Promise<void> => {
  const { kubectl } = cluster;
  await kubectl('create', 'namespace', 'stores');
  const pods = await storePods(settings, images);
  const items = STORES.flatMap((store) => resourcesOf(store, pods[store]));
  const file = join(folder, 'stores.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await kubectl('apply', '--filename', file);
  for (const store of STORES)
    await kubectl('--namespace', 'stores', 'rollout', 'status', `deployment/${store}`, '--timeout=3m');
  await cluster.updateNames();
  await createBucket(await addressOf(cluster, 's3'));
};
