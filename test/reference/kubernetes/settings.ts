import { variables } from '../../../app/config.ts';

/** Where each setting of the service is in Kubernetes. */

export type Process = 'api' | 'projector' | 'worker' | 'migrate';
type Setting = keyof typeof variables;

interface SecretSetting {
  readonly name: Setting;
  readonly of: readonly Process[];
  readonly isRequired: boolean;
  readonly example: string;
}

const EVERYWHERE: readonly Process[] = ['api', 'projector', 'worker', 'migrate'];
const KEY = 'REPLACE_WITH_32_BYTES_AS_BASE64URL';

/** Keys of the Secret. A process gets only those that it uses. */
export const secretSettings: readonly SecretSetting[] = [
  {
    name: 'DATABASE_URL',
    of: EVERYWHERE,
    isRequired: true,
    example: 'postgres://exchange:PASSWORD@postgres.stores:5432/exchange',
  },
  {
    name: 'EVENTSTORE_URL',
    of: EVERYWHERE,
    isRequired: false,
    example: 'esdb+discover://exchange:PASSWORD@eventstore.stores:2113',
  },
  {
    name: 'REDIS_URL',
    of: ['api', 'worker'],
    isRequired: false,
    example: 'redis://:PASSWORD@redis.stores:6379/0',
  },
  { name: 'SECRET_KEYS', of: EVERYWHERE, isRequired: true, example: `2026:${KEY}` },
  {
    name: 'ASSET_STORE_URL',
    of: ['api', 'worker'],
    isRequired: true,
    example: 's3://KEY:SECRET@bucket/prefix?region=eu-central-1',
  },
  {
    name: 'SMTP_URL',
    of: ['api', 'worker'],
    isRequired: false,
    example: 'smtps://USER:PASSWORD@mail.example.com',
  },
  {
    name: 'LOG_SIGNING_KEYS',
    of: ['projector'],
    isRequired: false,
    example: `2026:${KEY}`,
  },
];

/** By the image, by the manifests, or only for a process outside of a container. */
export const decidedSettings: ReadonlySet<string> = new Set<Setting>([
  'NODE_ENV',
  'PORT',
  'HOST',
  'OPERATOR_PORT',
  'OPERATOR_HOST',
  'DATA_DIR',
  'ROLES',
  'DRAIN_DELAY_MS',
  'POSTGRES_BUFFERS_MB',
  'POSTGRES_WAL_MB',
  'OUTBOUND_ALLOW_LOOPBACK',
  'PROPOSAL_SELLER_MS',
  'EXCHANGE_API_KEY',
  'EXCHANGE_FAILPOINTS',
  'EXCHANGE_FAILPOINT_FILE',
  'LOG_FORMAT',
]);

/** Data of the ConfigMap: every other setting. Empty: its default. */
export const plainSettings = (given: Partial<Record<Setting, string>>): Readonly<Record<string, string>> => {
  const elsewhere = new Set<string>([...decidedSettings, ...secretSettings.map(({ name }) => name)]);
  const names = (Object.keys(variables) as Setting[]).filter((name) => !elsewhere.has(name));
  return Object.fromEntries(names.toSorted().map((name) => [name, given[name] ?? '']));
};

/** `secrets.env.example`: what `kubectl create secret generic --from-env-file` reads. */
export const secretsExample = (): string =>
  [
    '# Values of the Secret exchange-secrets: docs/deploy/kubernetes.md. Remove the # before what is used.',
    ...secretSettings.flatMap(({ name, isRequired, example }) => [
      '',
      `# ${variables[name].description ?? ''}`,
      `${isRequired ? '' : '# '}${name}=${example}`,
    ]),
    '',
  ].join('\n');
