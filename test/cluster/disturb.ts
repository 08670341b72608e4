import { run, until } from '../containers/docker.ts';
import { say } from '../containers/write-and-kill.ts';
import type { Cluster } from './cluster.ts';
import { COMPONENTS, inExchange, podsOf, rolledOut } from './exchange.ts';
import { NODE } from './prepared.ts';

/** Stops an API process, as a defect may: the kubelet must end it and start it again. */
export const hangProcess = async (cluster: Cluster): Promise<void> => {
  const { docker, kubectl } = cluster;
  const [pod = ''] = await podsOf(cluster, 'api');
  const restarts = async (): Promise<number> =>
    Number(
      await kubectl(
        ...inExchange,
        'get',
        'pod',
        pod,
        '--output',
        'jsonpath={.status.containerStatuses[0].restartCount}',
      ),
    );
  const labels = [`io.kubernetes.pod.name=${pod}`, 'io.kubernetes.container.name=exchange'];
  const container = await docker(
    'ps',
    '--quiet',
    ...labels.flatMap((label) => ['--filter', `label=${label}`]),
  );
  const before = await restarts();
  const startedMs = performance.now();
  process.kill(Number(await docker('inspect', '--format', '{{.State.Pid}}', container)), 'SIGSTOP');
  await until(`${pod} is started again`, async () => (await restarts()) > before);
  await rolledOut(cluster);
  say(
    `${pod} hung: it was ended, and is ready again after ${Math.round((performance.now() - startedMs) / 1_000)} s`,
  );
};

/**
 * The only node: evicted pods have nowhere to go, so the budgets keep the second pod of each Deployment.
 * @param command of the page, which would also evict the stores
 */
export const drainNode = async (cluster: Cluster, command: string): Promise<void> => {
  const { kubectl, environment } = cluster;
  const ours = '--pod-selector=app.kubernetes.io/name=buyer-exchange --timeout=60s';
  const drain = `${command.replace(' NODE ', ` ${NODE} `)} ${ours}`;
  const printed = await run('sh', ['-c', drain], environment).catch(String);
  if (!printed.includes("would violate the pod's disruption budget"))
    throw new Error(`the drain: ${printed}`);
  for (const component of COMPONENTS) {
    const path = 'jsonpath={.status.readyReplicas} {.status.unavailableReplicas}';
    const counts = await kubectl(...inExchange, 'get', 'deployment', component, '--output', path);
    if (counts !== '1 1')
      throw new Error(`${component}: not one ready and one unavailable pod, but ${counts}`);
  }
  await kubectl('uncordon', NODE);
  await rolledOut(cluster);
  say('a drain evicts one pod of each Deployment; the budgets refuse the second one');
};
