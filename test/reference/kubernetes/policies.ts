import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { INetworkPolicyEgressRule } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicyEgressRule';
import type { INetworkPolicyPeer } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicyPeer';
import { everyPod, labelsOf, nameOf, OPERATOR_PORT, PORT } from './names.ts';
import type { Process } from './settings.ts';

/** Who may reach the pods, and what the pods may reach. Everything else is denied. */

const inNamespace = (labels: Record<string, string>): INetworkPolicyPeer => ({
  namespaceSelector: { matchLabels: labels },
});
const namespaceNamed = (name: string): INetworkPolicyPeer =>
  inNamespace({ 'kubernetes.io/metadata.name': name });

const tcp = (port: number) => ({ protocol: 'TCP', port }) as const;

/** Postgres, EventStoreDB, Redis. */
const STORE_PORTS = [5_432, 2_113, 6_379];

const stores: INetworkPolicyEgressRule = {
  to: [inNamespace({ 'buyer-exchange/stores': 'true' })],
  ports: STORE_PORTS.map(tcp),
};

const names: INetworkPolicyEgressRule = {
  to: [namespaceNamed('kube-system')],
  ports: [{ protocol: 'UDP', port: 53 }, tcp(53)],
};

/** Traces: OTLP over HTTP. */
const collector: INetworkPolicyEgressRule = { to: [namespaceNamed('monitoring')], ports: [tcp(4_318)] };

/** Agents, sellers, webhooks, S3, mail servers: any port of an address of the internet. */
const outside: INetworkPolicyEgressRule = {
  to: [
    {
      ipBlock: {
        cidr: '0.0.0.0/0',
        except: [
          '10.0.0.0/8',
          '100.64.0.0/10',
          '127.0.0.0/8',
          '169.254.0.0/16',
          '172.16.0.0/12',
          '192.168.0.0/16',
        ],
      },
    },
    { ipBlock: { cidr: '::/0', except: ['fc00::/7', 'fe80::/10'] } },
  ],
};

const policyOf = (name: string, spec: INetworkPolicy['spec']): INetworkPolicy => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name, labels: { ...everyPod } },
  ...(spec !== undefined && { spec }),
});

const egressOf = (process: Process, egress: readonly INetworkPolicyEgressRule[]): INetworkPolicy =>
  policyOf(`${nameOf(process)}-out`, {
    podSelector: { matchLabels: labelsOf(process) },
    policyTypes: ['Egress'],
    egress: [...egress],
  });

export const networkPolicies = (): readonly INetworkPolicy[] => [
  policyOf('exchange-deny', {
    podSelector: { matchLabels: { ...everyPod } },
    policyTypes: ['Ingress', 'Egress'],
  }),
  policyOf('exchange-metrics-in', {
    podSelector: { matchLabels: { ...everyPod } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [namespaceNamed('monitoring')], ports: [tcp(OPERATOR_PORT)] }],
  }),
  policyOf('exchange-api-in', {
    podSelector: { matchLabels: labelsOf('api') },
    policyTypes: ['Ingress'],
    ingress: [{ from: [namespaceNamed('ingress-nginx')], ports: [tcp(PORT)] }],
  }),
  egressOf('api', [names, stores, collector, outside]),
  egressOf('projector', [names, stores, collector]),
  egressOf('worker', [names, stores, collector, outside]),
  egressOf('migrate', [names, stores]),
];
