import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IEnvVar } from 'kubernetes-models/v1/EnvVar';
import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';
import type { IService } from 'kubernetes-models/v1/Service';
import { CONFIG_MAP, labelsOf, nameOf, PORT, OPERATOR_PORT, SECRET } from './names.ts';
import { secretSettings, type Process } from './settings.ts';

/** The processes of the service in Kubernetes. */

export interface ProcessSize {
  readonly process: Exclude<Process, 'migrate'>;
  readonly replicas: number;
  /** CPUs that are reserved. A process that may use more at times answers faster, so there is no limit. */
  readonly cpu: string;
  /** Reserved and limit: the program reads the limit to size its caches. */
  readonly memory: string;
}

/** Memory as in `docker-compose.yml`. */
export const sizes: readonly ProcessSize[] = [
  { process: 'api', replicas: 2, cpu: '500m', memory: '768Mi' },
  // The second one stands by.
  { process: 'projector', replicas: 2, cpu: '250m', memory: '768Mi' },
  { process: 'worker', replicas: 2, cpu: '250m', memory: '512Mi' },
];

/**
 * Longer than an ingress controller and the proxies of the nodes need to notice that a pod is not ready: a probe each
 * 2 s fails, and the change of the endpoints reaches every node.
 */
const DRAIN_MS = 10_000;

/** Of `app/main.ts`: from the end of `DRAIN_DELAY_MS` on, the program ends itself within this time. */
const STOP_SECONDS = 25;
const graceSeconds = (drainMs: number): number => drainMs / 1_000 + STOP_SECONDS + 5;

const secretsOf = (process: Process): IEnvVar[] =>
  secretSettings
    .filter(({ of }) => of.includes(process))
    .map(({ name, isRequired }) => ({
      name,
      valueFrom: { secretKeyRef: { name: SECRET, key: name, ...(!isRequired && { optional: true }) } },
    }));

const environmentOf = (process: Process, own: Readonly<Record<string, string>>): IEnvVar[] => [
  ...Object.entries(own).map(([name, value]) => ({ name, value })),
  ...secretsOf(process),
];

const IMAGE = 'buyer-exchange:local';

const containerOf = ({ name, ...more }: IContainer): IContainer => ({
  name,
  image: IMAGE,
  envFrom: [{ configMapRef: { name: CONFIG_MAP } }],
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
  volumeMounts: [
    { name: 'data', mountPath: '/data' },
    { name: 'tmp', mountPath: '/tmp' },
  ],
  ...more,
});

const podOf = (container: IContainer): IPodSpec => ({
  automountServiceAccountToken: false,
  // The variables of service links look like misspelt settings, which end the start.
  enableServiceLinks: false,
  securityContext: {
    runAsNonRoot: true,
    // `node` of the image.
    runAsUser: 1000,
    runAsGroup: 1000,
    fsGroup: 1000,
    seccompProfile: { type: 'RuntimeDefault' },
  },
  containers: [container],
  // Unfinished uploads and drafts: the bytes of assets are in ASSET_STORE_URL.
  volumes: [
    { name: 'data', emptyDir: { sizeLimit: '10Gi' } },
    { name: 'tmp', emptyDir: { sizeLimit: '256Mi' } },
  ],
});

const probes = {
  // The listener answers at once, before the stores do.
  startupProbe: { httpGet: { path: '/live', port: 'http' }, periodSeconds: 2, failureThreshold: 30 },
  // Alive, not ready: with a database away the process waits for it, and a restart would not help.
  livenessProbe: {
    httpGet: { path: '/live', port: 'http' },
    periodSeconds: 10,
    timeoutSeconds: 5,
    failureThreshold: 3,
  },
  readinessProbe: {
    httpGet: { path: '/ready', port: 'http' },
    periodSeconds: 2,
    timeoutSeconds: 2,
    failureThreshold: 1,
  },
} as const;

export const deploymentOf = ({ process, replicas, cpu, memory }: ProcessSize): IDeployment => {
  const drainMs = process === 'api' ? DRAIN_MS : 0;
  const container = containerOf({
    name: 'exchange',
    ports: [
      { name: 'http', containerPort: PORT },
      { name: 'operator', containerPort: OPERATOR_PORT },
    ],
    env: environmentOf(process, {
      ROLES: process,
      // Network policies let only monitoring reach it.
      OPERATOR_HOST: '0.0.0.0',
      OPERATOR_PORT: String(OPERATOR_PORT),
      DRAIN_DELAY_MS: String(drainMs),
    }),
    ...probes,
    resources: { requests: { cpu, memory }, limits: { memory } },
  });
  const spreadOver = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway' as const,
    labelSelector: { matchLabels: labelsOf(process) },
  });
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: nameOf(process), labels: labelsOf(process) },
    spec: {
      replicas,
      selector: { matchLabels: labelsOf(process) },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: {
          labels: labelsOf(process),
          annotations: {
            'prometheus.io/scrape': 'true',
            'prometheus.io/port': String(OPERATOR_PORT),
            'prometheus.io/path': '/metrics',
          },
        },
        spec: {
          ...podOf(container),
          terminationGracePeriodSeconds: graceSeconds(drainMs),
          topologySpreadConstraints: [
            spreadOver('kubernetes.io/hostname'),
            spreadOver('topology.kubernetes.io/zone'),
          ],
        },
      },
    },
  };
};

export const budgetOf = ({ process }: ProcessSize): IPodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: nameOf(process), labels: labelsOf(process) },
  spec: {
    maxUnavailable: 1,
    // A pod that is not ready must not block the drain of its node.
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
    selector: { matchLabels: labelsOf(process) },
  },
});

export const apiService = (): IService => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: nameOf('api'), labels: labelsOf('api') },
  spec: {
    type: 'ClusterIP',
    selector: labelsOf('api'),
    ports: [{ name: 'http', port: 80, targetPort: 'http' }],
  },
});

/** Each process also migrates at its start. The Job shows whether it succeeded. */
export const migrationJob = (): IJob => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: nameOf('migrate'), labels: labelsOf('migrate') },
  spec: {
    backoffLimit: 6,
    activeDeadlineSeconds: 3_600,
    ttlSecondsAfterFinished: 600,
    template: {
      metadata: { labels: labelsOf('migrate') },
      spec: {
        ...podOf(
          containerOf({
            name: 'migrate',
            command: ['node', 'dist/bundle/exchange.js', 'migrate', '--json'],
            env: environmentOf('migrate', {}),
            resources: { requests: { cpu: '100m', memory: '256Mi' }, limits: { memory: '256Mi' } },
          }),
        ),
        restartPolicy: 'OnFailure',
      },
    },
  },
});
