import { stringify } from 'yaml';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { CONFIG_MAP, everyPod } from './names.ts';
import { networkPolicies } from './policies.ts';
import { apiService, budgetOf, deploymentOf, migrationJob, sizes } from './processes.ts';
import { plainSettings, secretsExample } from './settings.ts';

const FOLDER = 'deploy/kubernetes';
const HEAD =
  '# `npm run docs:reference` writes this file from test/reference/kubernetes. See docs/deploy/kubernetes.md.\n';

const fileOf = (resources: readonly object[]): string =>
  HEAD +
  resources
    .map((one) => stringify(one, { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true }))
    .join('---\n');

const settings = (): IConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: CONFIG_MAP, labels: { ...everyPod } },
  data: {
    ...plainSettings({
      BASE_URL: 'https://api.example.com',
      LOG_LEVEL: 'info',
      // The ingress controller.
      TRUSTED_PROXIES: '1',
      LIMIT_NODES: String(sizes.find(({ process }) => process === 'api')?.replicas),
    }),
  },
});

const resourceFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ['settings.yaml', fileOf([settings()])],
    ['migrate.yaml', fileOf([migrationJob()])],
    ...sizes.map((size): [string, string] => [
      `${size.process}.yaml`,
      fileOf([deploymentOf(size), budgetOf(size), ...(size.process === 'api' ? [apiService()] : [])]),
    ]),
    ['network-policies.yaml', fileOf(networkPolicies())],
  ]);

/** The files of `deploy/kubernetes`, by path. */
export const kubernetesFiles = (): ReadonlyMap<string, string> => {
  const resources = resourceFiles();
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [...resources.keys()],
  };
  return new Map(
    [
      ...resources,
      ['kustomization.yaml', fileOf([kustomization])] as const,
      ['secrets.env.example', secretsExample()] as const,
    ].map(([name, text]) => [`${FOLDER}/${name}`, text]),
  );
};
