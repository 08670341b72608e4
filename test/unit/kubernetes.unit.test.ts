import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { Service } from 'kubernetes-models/v1/Service';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { readConfig, variables } from '../../app/config.ts';
import { probePaths } from '../../shared/http/service-routes.ts';
import { decidedSettings, secretSettings } from '../reference/kubernetes/settings.ts';

/** The files of `deploy/kubernetes`, as an operator applies them. `reference.e2e` compares them with what writes them. */

const FOLDER = 'deploy/kubernetes';
const read = (path: string): string => readFileSync(path, 'utf8');
const names = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml');
const everything: readonly unknown[] = names.flatMap((name) =>
  parseAllDocuments(read(`${FOLDER}/${name}`)).map((document): unknown => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  }),
);

const models = { ConfigMap, Deployment, Job, NetworkPolicy, PodDisruptionBudget, Service } as const;
const validate = (resource: unknown): void => {
  const { kind } = z.object({ kind: z.enum(Object.keys(models) as (keyof typeof models)[]) }).parse(resource);
  new models[kind](resource as never).validate();
};
const ofKind = <T>(is: (resource: unknown) => resource is T): readonly T[] => everything.filter(is);

const deployments = ofKind(Deployment.is);
const jobs = ofKind(Job.is);
const configMap = ofKind(ConfigMap.is)[0]?.data ?? {};
const workloads = [...deployments, ...jobs].map((resource) => {
  const { template } = resource.spec ?? {};
  const [container, ...others] = template?.spec?.containers ?? [];
  if (template?.spec === undefined || container === undefined) throw new Error('no container');
  expect(others).toEqual([]);
  return {
    name: resource.metadata?.name ?? '',
    labels: template.metadata?.labels ?? {},
    pod: template.spec,
    container,
    env: new Map((container.env ?? []).map((one) => [one.name, one])),
  };
});
const ports = deployments.flatMap(({ spec }) =>
  (spec?.template.spec?.containers ?? []).flatMap((container) => container.ports ?? []),
);
const fromImage = Object.fromEntries(
  (/^ENV (.*)$/m.exec(read('Dockerfile'))?.[1] ?? '').split(' ').map((one) => one.split('=')),
) as Readonly<Record<string, string>>;

describe('the manifests', () => {
  it('are all that kustomization.yaml names', () => {
    const { resources } = z
      .object({ resources: z.array(z.string()) })
      .parse(parse(read(`${FOLDER}/kustomization.yaml`)));
    expect(resources.toSorted()).toEqual(names.toSorted());
    expect(deployments.map(({ metadata }) => metadata?.name)).toEqual([
      'exchange-api',
      'exchange-projector',
      'exchange-worker',
    ]);
  });

  it.each(everything.map((resource) => [JSON.stringify(resource).slice(0, 90), resource]))(
    'fit the schema of Kubernetes: %s',
    (_, resource) => {
      expect(() => validate(resource)).not.toThrow();
    },
  );

  it('would not fit it with a wrong member', () => {
    const [first] = deployments;
    expect(() => validate({ ...first, spec: { ...first?.spec, replicas: 'two' } })).toThrow('replicas');
    expect(() => validate({ ...first, spec: { replicas: 2 } })).toThrow('selector');
  });
});

describe('settings', () => {
  it('are each in the ConfigMap, in the Secret, or decided', () => {
    const secrets = secretSettings.map(({ name }) => name);
    const all = [...Object.keys(configMap), ...secrets, ...decidedSettings];
    expect(all.toSorted()).toEqual(Object.keys(variables).toSorted());
    const example = [...read(`${FOLDER}/secrets.env.example`).matchAll(/^(?:# )?([A-Z_]+)=/gm)];
    expect(example.map(([, name = '']) => name).toSorted()).toEqual(secrets.toSorted());
  });

  it.each(workloads)('of $name are what the program reads, and it accepts them', ({ container, env }) => {
    expect(container.envFrom).toEqual([{ configMapRef: { name: 'exchange-settings' } }]);
    const values = [...env.values()].map(({ name, value, valueFrom }) => {
      if (value !== undefined) return [name, value];
      const secret = secretSettings.find((one) => one.name === name);
      expect(valueFrom?.secretKeyRef).toEqual({
        name: 'exchange-secrets',
        key: name,
        ...(secret?.isRequired === false && { optional: true }),
      });
      const example = secret?.example.replace(/REPLACE\w+/, 'A'.repeat(43)) ?? '';
      return [name, example];
    });
    const environment = {
      ...fromImage,
      ...configMap,
      MAIL_FROM: 'a@example.com',
      ...Object.fromEntries(values),
    };
    expect(Object.keys(environment).filter((name) => !(name in variables))).toEqual([]);
    expect(readConfig(environment)).toMatchObject({ NODE_ENV: 'production', DATA_DIR: '/data' });
  });

  it('give each process its role, and the limits the number of API processes', () => {
    expect(
      deployments.map(({ spec }) => spec?.template.metadata?.labels?.['app.kubernetes.io/component']),
    ).toEqual(workloads.slice(0, 3).map(({ env }) => env.get('ROLES')?.value));
    expect(configMap['LIMIT_NODES']).toBe(String(deployments[0]?.spec?.replicas));
  });

  it('let no process see a secret that it does not use', () => {
    const of = Object.fromEntries(workloads.map(({ name, env }) => [name, env]));
    expect(of['exchange-projector']?.has('SMTP_URL')).toBe(false);
    expect(of['exchange-api']?.has('LOG_SIGNING_KEYS')).toBe(false);
    expect(of['exchange-migrate']?.has('ASSET_STORE_URL')).toBe(false);
  });
});

describe('pods', () => {
  it.each(workloads)('of $name run contained', ({ pod, container }) => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        fsGroup: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const mounted = container.volumeMounts?.map(({ name, mountPath }) => [name, mountPath]);
    expect(mounted).toEqual([
      [pod.volumes?.[0]?.name, fromImage['DATA_DIR']],
      [pod.volumes?.[1]?.name, '/tmp'],
    ]);
  });

  it.each(workloads.slice(0, 3))('of $name are probed where the program listens', ({ container, env }) => {
    const own = container.ports?.map(({ name, containerPort }) => [name, String(containerPort)]);
    expect(own).toEqual([
      ['http', fromImage['PORT']],
      ['operator', env.get('OPERATOR_PORT')?.value],
    ]);
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
    const asked = probes.map((probe) => [probe?.httpGet?.path, probe?.httpGet?.port]);
    expect(asked).toEqual([
      ['/live', 'http'],
      ['/live', 'http'],
      ['/ready', 'http'],
    ]);
    for (const [path] of asked) expect([path, probePaths.has(String(path))]).toEqual([path, true]);
  });

  it.each(workloads.slice(0, 3))(
    'of $name have the time that a graceful stop takes',
    ({ pod, env, container }) => {
      const [, cutMs = ''] = /STOP_MS_MAX = ([\d_]+);/.exec(read('app/main.ts')) ?? [];
      const drainMs = Number(env.get('DRAIN_DELAY_MS')?.value);
      const neededMs = Number(cutMs.replace('_', '')) + drainMs;
      expect(neededMs).toBeGreaterThanOrEqual(25_000);
      expect((pod.terminationGracePeriodSeconds ?? 0) * 1_000).toBeGreaterThan(neededMs);
      const { periodSeconds = 10, failureThreshold = 3 } = container.readinessProbe ?? {};
      // New requests arrive until the probe has failed. Projectors and workers get none.
      if (env.get('ROLES')?.value === 'api')
        expect(drainMs).toBeGreaterThan(periodSeconds * failureThreshold * 2_000);
    },
  );

  it('are replaced one by one, and are spread over nodes', () => {
    for (const { spec } of deployments) {
      expect(spec?.strategy?.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
      const spread = spec?.template.spec?.topologySpreadConstraints ?? [];
      expect(spread.map(({ topologyKey, labelSelector }) => [topologyKey, labelSelector])).toEqual(
        ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((key) => [key, spec?.selector]),
      );
    }
  });

  it('have the memory that containers of Compose have', () => {
    const compose = read('docker-compose.yml');
    for (const { name, container } of workloads.slice(0, 3)) {
      const [, megabytes] =
        new RegExp(`\\$\\{${name.replace('exchange-', '').toUpperCase()}_MEMORY:-(\\d+)M\\}`).exec(compose) ??
        [];
      expect([name, container.resources?.limits?.['memory']]).toEqual([name, `${megabytes}Mi`]);
      expect(container.resources?.requests?.['memory']).toBe(`${megabytes}Mi`);
    }
  });
});

describe('selectors', () => {
  const matches = (selector: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>>) =>
    Object.entries(selector).every(([key, value]) => labels[key] === value);
  const selected = (selector: Readonly<Record<string, string>> | undefined): readonly string[] =>
    selector === undefined
      ? []
      : workloads.filter(({ labels }) => matches(selector, labels)).map(({ name }) => name);

  it('of Deployments and disruption budgets find the pods of one process', () => {
    for (const { metadata, spec } of [...deployments, ...ofKind(PodDisruptionBudget.is)]) {
      expect(selected(spec?.selector?.matchLabels)).toEqual([metadata?.name]);
    }
    expect(ofKind(PodDisruptionBudget.is).length).toBe(deployments.length);
  });

  it('of the Service find the API processes, at a port that they have', () => {
    const [service, ...others] = ofKind(Service.is);
    expect([others, selected(service?.spec?.selector)]).toEqual([[], ['exchange-api']]);
    expect(service?.spec?.ports?.map(({ targetPort }) => targetPort)).toEqual(['http']);
  });

  it('of network policies cover every pod, in both directions', () => {
    const policies = ofKind(NetworkPolicy.is);
    const covering = (type: string) =>
      new Set(
        policies
          .filter(({ spec }) => spec?.policyTypes?.some((one) => one === type))
          .flatMap(({ spec }) => selected(spec?.podSelector?.matchLabels)),
      );
    const all = workloads.map(({ name }) => name);
    expect([covering('Ingress'), covering('Egress')]).toEqual([new Set(all), new Set(all)]);
    const opened = policies
      .flatMap(({ spec }) => spec?.ingress ?? [])
      .flatMap(({ ports: some = [] }) => some);
    expect(new Set(opened.map(({ port }) => port))).toEqual(new Set(ports.map((one) => one.containerPort)));
  });

  it('of network policies reach the stores of Compose, and the outside where the network `outbound` does', () => {
    const out = (name: string) =>
      ofKind(NetworkPolicy.is).find(({ metadata }) => metadata?.name === `exchange-${name}-out`)?.spec
        ?.egress ?? [];
    const [compose, reached] = [
      read('docker-compose.yml'),
      out('projector').flatMap((rule) => rule.ports ?? []),
    ];
    const stores = [
      ...compose.matchAll(/@?(?:postgres|eventstore|redis|REDIS_PASSWORD[^@]*@redis):(\d{4})\b/g),
    ];
    expect(new Set(stores.map(([, port]) => Number(port)))).toEqual(new Set([5_432, 2_113, 6_379]));
    for (const [, port] of stores) expect(reached.map((one) => one.port)).toContain(Number(port));
    for (const process of ['api', 'projector', 'worker']) {
      const service = compose.slice(compose.indexOf(`\n  ${process}:`));
      const networks = /networks: \[([^\]]+)\]/.exec(service)?.[1] ?? '';
      const isOut = out(process).some(({ to }) => to?.some(({ ipBlock }) => ipBlock?.cidr === '0.0.0.0/0'));
      expect([process, isOut]).toEqual([process, networks.includes('outbound')]);
    }
  });
});
