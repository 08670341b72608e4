import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { clean } from '../containers/deployment.ts';
import { flags, run, startDocker, until, type Docker } from '../containers/docker.ts';
import { NODE, PAUSE_IMAGE, type Prepared } from './prepared.ts';

/** A node of Kubernetes in the namespaces of this process, with everything that a cluster needs on it. */

const ADDRESS = '10.90.0.1';
const API = `https://${ADDRESS}:6443`;
const SERVICES = '10.96.0.0/16';
const PODS = '10.244.0.0/24';
const DOMAIN = 'cluster.local';

type Options = Readonly<Record<string, string | number | true>>;

export interface Cluster {
  readonly docker: Docker;
  /** For programs that call `kubectl`. */
  readonly environment: Readonly<Record<string, string>>;
  kubectl(...words: readonly string[]): Promise<string>;
  /** Resolves the names of the Services that there are now. */
  updateNames(): Promise<void>;
  stop(): Promise<void>;
}

const sh = (script: string): Promise<string> => run('sh', ['-euc', script]);

/** The address of the node is on a bridge of its own: this network has no other interface. */
const makeNetwork = (): Promise<string> =>
  sh(`ip link set lo up
    ip link add node0 type bridge
    ip address add ${ADDRESS}/24 dev node0
    ip link set node0 up
    ip route add default dev node0
    sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1`);

/**
 * The kubelet asks for the first container of a pod to be spared when memory is short, which root of a machine that is itself
 * confined may not grant. Containers of the service ask for no such thing.
 */
const RUNTIME = `#!/bin/sh
for word; do
  [ "$option" != --bundle ] || sed -i 's/"oomScoreAdj":-[0-9]*/"oomScoreAdj":0/' "$word/config.json"
  option=$word
done
exec runc "$@"
`;

const writeFiles = async (folder: string): Promise<void> => {
  const token = randomBytes(24).toString('base64url');
  await writeFile(join(folder, 'tokens.csv'), `${token},admin,admin,system:masters\n`);
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'here',
        cluster: { server: API, 'certificate-authority': join(folder, 'certificates/apiserver.crt') },
      },
    ],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'here', context: { cluster: 'here', user: 'admin' } }],
    'current-context': 'here',
  };
  await writeFile(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
  await run('openssl', ['genrsa', '-out', join(folder, 'accounts.key'), '2048']);
  const network = {
    cniVersion: '0.3.1',
    name: 'pods',
    type: 'bridge',
    bridge: 'pods0',
    isGateway: true,
    // A pod reaches itself through its Service.
    hairpinMode: true,
    ipam: {
      type: 'host-local',
      subnet: PODS,
      routes: [{ dst: '0.0.0.0/0' }],
      dataDir: join(folder, 'addresses'),
    },
  };
  await mkdir(join(folder, 'cni'));
  await writeFile(join(folder, 'cni/pods.conf'), JSON.stringify(network));
  await writeFile(join(folder, 'resolv.conf'), `nameserver ${ADDRESS}\n`);
  await writeFile(join(folder, 'names'), '');
  await writeFile(join(folder, 'runtime'), RUNTIME, { mode: 0o755 });
};

/** Options of the programs, by the order in which they start. */
const programsOf = (folder: string, docker: Docker): Readonly<Record<string, Options>> => {
  const at = (name: string): string => join(folder, name);
  const kubeconfig = at('kubeconfig');
  const gates = { 'feature-gates': 'TTLAfterFinished=true' };
  return {
    'kube-apiserver': {
      ...gates,
      'etcd-servers': 'http://127.0.0.1:2379',
      'advertise-address': ADDRESS,
      'kubelet-preferred-address-types': 'InternalIP',
      'cert-dir': at('certificates'),
      'token-auth-file': at('tokens.csv'),
      'authorization-mode': 'RBAC',
      'service-cluster-ip-range': SERVICES,
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-signing-key-file': at('accounts.key'),
      'service-account-key-file': at('accounts.key'),
      'enable-admission-plugins': 'PodSecurityPolicy',
      'allow-privileged': 'true',
    },
    'kube-controller-manager': {
      ...gates,
      kubeconfig,
      'use-service-account-credentials': 'true',
      'service-account-private-key-file': at('accounts.key'),
      'root-ca-file': at('certificates/apiserver.crt'),
      'leader-elect': 'false',
      'cert-dir': at('certificates'),
    },
    'kube-scheduler': { kubeconfig, 'leader-elect': 'false', 'cert-dir': at('certificates') },
    kubelet: {
      kubeconfig,
      'root-dir': at('kubelet'),
      'cert-dir': at('certificates'),
      'docker-endpoint': docker.environment['DOCKER_HOST'] ?? '',
      'pod-infra-container-image': PAUSE_IMAGE,
      'hostname-override': NODE,
      'node-ip': ADDRESS,
      'fail-swap-on': 'false',
      'cgroup-driver': 'cgroupfs',
      'network-plugin': 'cni',
      'cni-conf-dir': at('cni'),
      'cni-bin-dir': '/usr/lib/cni',
      'cni-cache-dir': at('cni-cache'),
      'cluster-dns': ADDRESS,
      'cluster-domain': DOMAIN,
      'image-gc-high-threshold': 100,
      'anonymous-auth': 'true',
      'authorization-mode': 'AlwaysAllow',
    },
    'kube-proxy': {
      kubeconfig,
      'hostname-override': NODE,
      'proxy-mode': 'iptables',
      'cluster-cidr': PODS,
      // Limits of the whole machine.
      'conntrack-max-per-core': 0,
      'conntrack-tcp-timeout-established': '0s',
      'conntrack-tcp-timeout-close-wait': '0s',
    },
  };
};

const start = async (folder: string, program: string, options: Options): Promise<ChildProcess> => {
  const log = await open(join(folder, `${program.split('/').at(-1)}.log`), 'w');
  const child = spawn(program, flags(options), { stdio: ['ignore', log.fd, log.fd] });
  child.once('exit', (status) => {
    if (status !== null)
      process.stderr.write(`${program} ended with status ${status}: see its log in ${folder}\n`);
  });
  await log.close();
  return child;
};

const Services = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), namespace: z.string() }),
      spec: z.object({ clusterIP: z.string() }),
    }),
  ),
});

/** @param parent for the files of the cluster, which are new each time */
export const startCluster = async (
  parent: string,
  { programs, config, kubectl: client }: Prepared,
): Promise<Cluster> => {
  const folder = join(parent, 'cluster');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await makeNetwork();
  await writeFiles(folder);
  // Here, too, that of the machine cannot be reached.
  await run('mount', ['--bind', join(folder, 'resolv.conf'), '/etc/resolv.conf']);
  const names = await start(folder, 'dnsmasq', {
    'keep-in-foreground': true,
    'conf-file': '/dev/null',
    'no-resolv': true,
    'no-hosts': true,
    'addn-hosts': join(folder, 'names'),
    local: `/${DOMAIN}/`,
    'listen-address': ADDRESS,
    'bind-interfaces': true,
    user: 'root',
    'pid-file': true,
  });
  const docker = await startDocker(parent, config, {
    iptables: 'false',
    'add-runtime': `node=${join(folder, 'runtime')}`,
    'default-runtime': 'node',
  });
  // A run that was killed has left them.
  await clean(docker);
  const environment = {
    KUBECONFIG: join(folder, 'kubeconfig'),
    PATH: `${join(client, '..')}:${process.env['PATH'] ?? ''}`,
  };
  const kubectl = (...words: readonly string[]): Promise<string> => run(client, words, environment);
  const etcd = await start(folder, 'etcd', { 'data-dir': join(folder, 'etcd') });
  const started = [etcd];
  for (const [program, options] of Object.entries(programsOf(folder, docker))) {
    started.push(await start(folder, join(programs, program), options));
    if (program === 'kube-apiserver')
      await until('the API server is ready', () => succeeds(kubectl('get', '--raw', '/readyz')));
  }
  return {
    docker,
    environment,
    kubectl,
    updateNames: async () => {
      const { items } = Services.parse(
        JSON.parse(await kubectl('get', 'services', '--all-namespaces', '--output', 'json')),
      );
      const lines = items.map(
        ({ metadata: { name, namespace }, spec }) => `${spec.clusterIP} ${name}.${namespace}.svc.${DOMAIN}\n`,
      );
      await writeFile(join(folder, 'names'), lines.join(''));
      names.kill('SIGHUP');
    },
    stop: async () => {
      for (const child of [names, ...started.toReversed()]) await ended(child);
      await clean(docker);
      await docker.stop();
    },
  };
};

export const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

const ended = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null) return;
  const exit = once(child, 'exit');
  child.removeAllListeners('exit');
  child.kill('SIGKILL');
  await Promise.race([exit, once(child, 'exit')]);
};
