import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import { until } from '../containers/docker.ts';
import { timed } from '../containers/prepare.ts';
import { say } from '../containers/write-and-kill.ts';
import { startCluster, succeeds, type Cluster } from './cluster.ts';
import { followPage } from './follow-page.ts';
import { FOLDER, NODE, type Prepared } from './prepared.ts';
import { startStores } from './stores.ts';

/** The part of run.ts that has a network and processes of its own. The argument is the file of what is prepared. */
const prepared = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as Prepared;

const main = async (cluster: Cluster): Promise<void> => {
  const { kubectl } = cluster;
  await until('the node is ready', () =>
    succeeds(kubectl('wait', '--for=condition=Ready', `node/${NODE}`, '--timeout=1m')),
  );
  say(await kubectl('get', 'nodes', '--output', 'wide'));
  await kubectl('apply', '--filename', join(packageDirectory, 'test/cluster/pod-security.yaml'));
  await timed('stores', () => startStores(cluster, FOLDER, prepared));
  await followPage(cluster, FOLDER, prepared);
};

// The first process of its namespace has no other way to end by a signal, and all others end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const cluster = await timed('the cluster', () => startCluster(FOLDER, prepared));
let isClean = false;
try {
  await main(cluster);
  isClean = true;
} catch (error) {
  say(String(error));
  for (const what of [['pods'], ['events', '--field-selector=type=Warning,reason!=Unhealthy']])
    say(await cluster.kubectl('get', ...what, '--all-namespaces').catch(String));
} finally {
  await cluster.stop();
}
process.exit(isClean ? 0 : 1);
