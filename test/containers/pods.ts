import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { packageDirectory } from '../../app/version.ts';
import type { Settings } from './deployment.ts';
import { run, until, type Docker } from './docker.ts';
import { OUTSIDE_IMAGE } from './images.ts';
import { s3UrlOf } from './s3-store.ts';

/**
 * The pods of `deploy/kubernetes` as containers: image, command, environment, user, volumes, limits, probes and rollouts as
 * the manifests say. What only a cluster has is not shown: network policies, services, disruption budgets, scheduling.
 */

const Reference = z.object({ name: z.string(), key: z.string(), optional: z.boolean().optional() });
const Probe = z.object({
  httpGet: z.object({ path: z.string(), port: z.string() }),
  periodSeconds: z.number(),
  failureThreshold: z.number(),
});
const Container = z.object({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).optional(),
  envFrom: z.array(z.object({ configMapRef: z.object({ name: z.string() }) })),
  env: z.array(
    z.object({
      name: z.string(),
      value: z.string().optional(),
      valueFrom: z.object({ secretKeyRef: Reference }).optional(),
    }),
  ),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
  startupProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  resources: z.object({ limits: z.object({ memory: z.string() }) }),
});
const PodSpec = z.object({
  securityContext: z.object({
    runAsNonRoot: z.literal(true),
    runAsUser: z.number(),
    runAsGroup: z.number(),
    fsGroup: z.number(),
    seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
  }),
  containers: z.tuple([Container]),
  volumes: z.array(z.object({ name: z.string(), emptyDir: z.object({ sizeLimit: z.string() }) })),
  terminationGracePeriodSeconds: z.number().optional(),
});
const Workload = z.object({
  kind: z.enum(['Deployment', 'Job']),
  metadata: z.object({ name: z.string(), namespace: z.literal('exchange') }),
  spec: z.object({
    replicas: z.number().optional(),
    strategy: z
      .object({ rollingUpdate: z.object({ maxSurge: z.literal(1), maxUnavailable: z.literal(0) }) })
      .optional(),
    template: z.object({ spec: PodSpec }),
  }),
});
type Workload = z.infer<typeof Workload>;
const Values = z.record(z.string(), z.string());
const ConfigMap = z.object({
  kind: z.literal('ConfigMap'),
  metadata: z.object({ name: z.string() }),
  data: Values,
});
const Secret = z.object({
  kind: z.literal('Secret'),
  metadata: z.object({ name: z.string() }),
  data: Values,
});

/** What `kubectl apply` would send. */
export interface Manifests {
  readonly workloads: readonly Workload[];
  /** Of ConfigMaps and Secrets, by name. */
  readonly values: ReadonlyMap<string, Settings>;
}

export interface Overlay {
  readonly folder: string;
  /** Takes the place of the page's registry. */
  readonly registry: string;
  readonly settings: Settings;
  /** Take the place of the values in `secrets.env.example`, also of those that are comments there. */
  readonly secrets: Settings;
  /** Further items of `patches`. */
  readonly patches?: string;
}

/** The Secret of the stand-ins of stores. @param hostOf the name at which pods reach a store */
export const secretsOf = (
  settings: Settings,
  hostOf: (store: 'postgres' | 'eventstore' | 'redis' | 's3') => string,
): Settings => ({
  DATABASE_URL: `postgres://exchange:${settings['EXCHANGE_DB_PASSWORD']}@${hostOf('postgres')}:5432/exchange`,
  EVENTSTORE_URL: `esdb://${hostOf('eventstore')}:2113?tls=false`,
  REDIS_URL: `redis://:${settings['REDIS_PASSWORD']}@${hostOf('redis')}:6379/0`,
  SECRET_KEYS: settings['SECRET_KEYS'] ?? '',
  LOG_SIGNING_KEYS: settings['LOG_SIGNING_KEYS'] ?? '',
  ASSET_STORE_URL: s3UrlOf(hostOf('s3')),
});

/** Writes the overlay of docs/deploy/kubernetes.md next to a copy of `deploy/kubernetes` whose secrets are edited. */
export const writeOverlay = async ({
  folder,
  registry,
  settings,
  secrets,
  patches = '',
}: Overlay): Promise<void> => {
  const page = await readFile(join(packageDirectory, 'docs/deploy/kubernetes.md'), 'utf8');
  const [, overlay = ''] = /```yaml\n(# my-exchange[^]*?)```/.exec(page) ?? [];
  for (const path of ['my-exchange', 'deploy'])
    await rm(join(folder, path), { recursive: true, force: true });
  for (const path of ['my-exchange', 'deploy']) await mkdir(join(folder, path), { recursive: true });
  const lines = Object.entries(settings).map(
    ([name, value]) => `        ${name}: ${JSON.stringify(value)}\n`,
  );
  const text = overlay
    .replace('registry.example.com', registry)
    .replace(/(\n +data:\n)/, `$1${lines.join('')}`);
  await writeFile(join(folder, 'my-exchange/kustomization.yaml'), text + patches);
  await run('cp', ['-r', join(packageDirectory, 'deploy/kubernetes'), join(folder, 'deploy')]);
  const example = join(folder, 'deploy/kubernetes/secrets.env.example');
  const edited = Object.entries(secrets).reduce(
    (all, [name, value]) => all.replace(new RegExp(`^(?:# )?${name}=.*$`, 'm'), `${name}=${value}`),
    await readFile(example, 'utf8'),
  );
  await writeFile(example, edited);
};

/** Renders the overlay of `writeOverlay`, and its Secret, with Debian's `kubectl`. */
export const renderManifests = async (kubectl: string, folder: string): Promise<Manifests> => {
  const secretsFile = join(folder, 'deploy/kubernetes/secrets.env.example');
  const create = ['create', 'secret', 'generic', 'exchange-secrets', `--from-env-file=${secretsFile}`];
  const [rendered, secret] = await Promise.all([
    run(kubectl, ['kustomize', join(folder, 'my-exchange')]),
    run(kubectl, ['--namespace', 'exchange', ...create, '--dry-run=client', '--output', 'yaml']),
  ]);
  const documents = [rendered, secret].flatMap((all) =>
    parseAllDocuments(all).map((one) => one.toJS() as unknown),
  );
  const of = <T>(schema: z.ZodType<T>, kind: RegExp): readonly T[] =>
    documents
      .filter((one) => kind.test((one as { readonly kind: string }).kind))
      .map((one) => schema.parse(one));
  const decoded = (data: Settings): Settings =>
    Object.fromEntries(
      Object.entries(data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]),
    );
  return {
    workloads: of(Workload, /^(?:Deployment|Job)$/),
    values: new Map([
      ...of(ConfigMap, /^ConfigMap$/).map(({ metadata, data }) => [metadata.name, data] as const),
      ...of(Secret, /^Secret$/).map(({ metadata, data }) => [metadata.name, decoded(data)] as const),
    ]),
  };
};

/** Where operators run a command: the projectors alone have the key that seals the log. */
export const operatedIn = ([command]: readonly string[]): string =>
  command === 'log' ? 'exchange-projector' : 'exchange-worker';

/** As a kubelet would: a missing ConfigMap, Secret or key is an error. */
const environmentOf = (
  { env, envFrom }: z.infer<typeof Container>,
  values: Manifests['values'],
): Settings => {
  const of = (name: string): Settings => {
    const found = values.get(name);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  };
  const own = env.flatMap(({ name, value, valueFrom }) => {
    if (valueFrom === undefined) return [[name, value ?? '']];
    const { secretKeyRef } = valueFrom;
    const secret = of(secretKeyRef.name)[secretKeyRef.key];
    if (secret !== undefined) return [[name, secret]];
    if (secretKeyRef.optional === true) return [];
    throw new Error(`there is no ${secretKeyRef.key} in ${secretKeyRef.name}`);
  });
  return Object.assign(
    {},
    ...envFrom.map(({ configMapRef }) => of(configMapRef.name)),
    Object.fromEntries(own),
  ) as Settings;
};

/** Words of `docker run`. */
const wordsOf = (workload: Workload, values: Manifests['values'], network: string): readonly string[] => {
  const { containers, securityContext, volumes } = workload.spec.template.spec;
  const [container] = containers;
  const { runAsUser, runAsGroup, fsGroup } = securityContext;
  const mounts = container.volumeMounts.flatMap(({ name, mountPath }) => {
    const volume = volumes.find((one) => one.name === name);
    if (volume === undefined) throw new Error(`there is no volume ${name}`);
    const bytes = volume.emptyDir.sizeLimit.replace(/(?<=[GM])i$/, '');
    // As the kubelet makes an empty folder for `fsGroup`.
    return ['--tmpfs', `${mountPath}:rw,exec,size=${bytes},uid=0,gid=${fsGroup},mode=2775`];
  });
  const identity = ['--user', `${runAsUser}:${runAsGroup}`, '--group-add', String(fsGroup)];
  const confinement = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
  const memory = ['--memory', container.resources.limits.memory.replace('Mi', 'm')];
  const environment = Object.entries(environmentOf(container, values)).flatMap(([name, value]) => [
    '--env',
    `${name}=${value}`,
  ]);
  const options = ['--network', network, ...identity, ...confinement, ...mounts, ...memory, ...environment];
  return [...options, container.image, ...(container.command ?? [])];
};

export interface Pods {
  /** As `kubectl exec deploy/NAME`. @returns what it prints @throws Error when it fails */
  exec(name: string, ...words: readonly string[]): Promise<string>;
  /** Runs the Job. @returns its log @throws Error if it fails */
  migrate(): Promise<string>;
  /** As `kubectl apply`, then `kubectl rollout restart`, of one Deployment after the other. @returns a line for each */
  rollOut(names: readonly string[]): Promise<readonly string[]>;
}

/** @param network of the stores */
export const podsOf = (docker: Docker, manifests: Manifests, network: string): Pods => {
  const running = new Map<string, string[]>();
  let started = 0;
  const workload = (name: string): Workload => {
    const found = manifests.workloads.find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  };
  const start = async (name: string): Promise<string> => {
    const pod = `${name}-${(started += 1)}`;
    const words = wordsOf(workload(name), manifests.values, network);
    await docker('run', '--detach', '--name', pod, '--network-alias', name, ...words);
    await ready(docker, pod, workload(name));
    return pod;
  };
  return {
    exec: (name, ...words) => docker('exec', running.get(name)?.[0] ?? name, ...words),
    migrate: () => docker('run', '--rm', ...wordsOf(workload('exchange-migrate'), manifests.values, network)),
    rollOut: async (names) => {
      const lines: string[] = [];
      for (const { metadata, spec } of names.map(workload)) {
        const old = running.get(metadata.name) ?? [];
        const fresh: string[] = [];
        const grace = spec.template.spec.terminationGracePeriodSeconds ?? 30;
        let longestMs = 0;
        for (let index = 0; index < (spec.replicas ?? 1); index += 1) {
          fresh.push(await start(metadata.name));
          const stopped = old[index];
          if (stopped !== undefined) longestMs = Math.max(longestMs, await stop(docker, stopped, grace));
        }
        running.set(metadata.name, fresh);
        lines.push(
          `${metadata.name}: ${fresh.length} pods are ready, the longest stop took ${Math.round(longestMs / 1_000)} s of ${grace} s`,
        );
      }
      return lines;
    },
  };
};

/** @throws Error with the log of a pod that does not start within its probes */
const ready = async (docker: Docker, pod: string, { spec }: Workload): Promise<void> => {
  const [{ ports, startupProbe, readinessProbe }] = spec.template.spec.containers;
  if (startupProbe === undefined || readinessProbe === undefined) throw new Error(`${pod}: no probes`);
  const address = await docker(
    'inspect',
    '--format',
    '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}',
    pod,
  );
  const succeeds = async ({ httpGet: { path, port } }: z.infer<typeof Probe>): Promise<boolean> => {
    const named = ports.find(({ name }) => name === port)?.containerPort;
    const answer = await fetch(`http://${address}:${named}${path}`).catch(() => undefined);
    return answer?.status === 200;
  };
  const startedMs = performance.now();
  try {
    await until(`${pod} has started`, () => succeeds(startupProbe));
    const tookMs = performance.now() - startedMs;
    if (tookMs > startupProbe.periodSeconds * startupProbe.failureThreshold * 1_000)
      throw new Error(`${pod}: too slow`);
    await until(`${pod} is ready`, () => succeeds(readinessProbe));
  } catch (error) {
    throw new Error(`${String(error)}\n${await docker('logs', '--tail', '30', pod)}`, { cause: error });
  }
};

/** @returns how long it took, in ms @throws Error if the program was killed, or failed */
const stop = async (docker: Docker, pod: string, graceSeconds: number): Promise<number> => {
  const startedMs = performance.now();
  await docker('stop', '--time', String(graceSeconds), pod);
  const status = await docker('inspect', '--format', '{{.State.ExitCode}}', pod);
  if (status !== '0')
    throw new Error(`${pod} ended with status ${status}\n${await docker('logs', '--tail', '30', pod)}`);
  await docker('rm', '--volumes', pod);
  return performance.now() - startedMs;
};

/**
 * The Service `exchange-api`: forwards connections to the pods that are ready.
 * @param port of this machine
 */
export const startService = async (docker: Docker, network: string, port: number): Promise<void> => {
  const config = `${join(packageDirectory, 'test/containers/outside/service.cfg')}:/service.cfg:ro`;
  const options = ['--name', 'service', '--publish', `127.0.0.1:${port}:80`, '--volume', config];
  await docker('create', ...options, OUTSIDE_IMAGE, 'haproxy', '-db', '-f', '/service.cfg');
  await docker('network', 'connect', network, 'service');
  await docker('start', 'service');
  await until('the Service has pods', async () =>
    fetch(`http://127.0.0.1:${port}/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
};
