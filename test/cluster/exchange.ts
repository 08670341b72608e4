import { until } from '../containers/docker.ts';
import type { Cluster } from './cluster.ts';

/** The Deployments of the manifests, in their namespace. */
export const COMPONENTS = ['exchange-api', 'exchange-projector', 'exchange-worker'] as const;

export const inExchange = ['--namespace', 'exchange'] as const;

const REPLICAS = 2;

/** Waits until every Deployment has its ready pods of the present version, and no others, also none that end. */
export const rolledOut = async (cluster: Cluster): Promise<void> => {
  for (const component of COMPONENTS)
    await cluster.kubectl(...inExchange, 'rollout', 'status', `deployment/${component}`, '--timeout=3m');
  const count = COMPONENTS.length * REPLICAS;
  await until('old pods are gone', async () => (await podsOf(cluster)).length === count);
};

/** The pods of the Deployments. */
export const podsOf = async ({ kubectl }: Cluster, component?: string): Promise<readonly string[]> => {
  const selector = `app.kubernetes.io/component ${component === undefined ? '!= migrate' : `= ${component}`}`;
  const path = 'jsonpath={.items[*].metadata.name}';
  return (await kubectl(...inExchange, 'get', 'pods', '--selector', selector, '--output', path)).split(' ');
};
