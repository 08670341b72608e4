import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { flags } from './docker.ts';

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60 };

/** A duration of Compose, as seconds: `30s`, `1m`. */
const seconds = z
  .string()
  .regex(/^\d+[sm]$/)
  .transform((text) => Number.parseInt(text, 10) * (UNIT_SECONDS[text.slice(-1)] ?? 1));

/** A list, or a line that is split at spaces outside of quotes. */
const words = z.union([
  z.array(z.string()),
  z
    .string()
    .transform((line) =>
      [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? ''),
    ),
]);

const texts = z.array(z.string()).default([]);

const healthCheckSchema = z.union([
  z.strictObject({ disable: z.literal(true) }),
  z.strictObject({
    test: z.tuple([z.literal('CMD-SHELL'), z.string()]),
    interval: z.string(),
    timeout: z.string(),
    retries: z.number(),
    start_period: z.string().optional(),
  }),
]);

/** Has the members that `createArguments` applies. Any other is an error, so that none is silently ignored. */
const serviceSchema = z.strictObject({
  image: z.string(),
  build: z.literal('.').optional(),
  restart: z.string().default('no'),
  init: z.boolean().default(false),
  user: z.string().optional(),
  read_only: z.boolean().default(false),
  tmpfs: texts,
  cap_drop: texts,
  security_opt: texts,
  stop_grace_period: seconds.optional(),
  shm_size: z.string().optional(),
  logging: z.strictObject({ driver: z.string(), options: z.record(z.string(), z.string()) }),
  depends_on: z
    .record(z.string(), z.strictObject({ condition: z.enum(['service_started', 'service_healthy']) }))
    .default({}),
  environment: z.record(z.string(), z.string()).default({}),
  ports: texts,
  volumes: texts,
  networks: z.array(z.string()).min(1),
  healthcheck: healthCheckSchema.optional(),
  profiles: texts,
  entrypoint: words.optional(),
  command: words.optional(),
  deploy: z
    .strictObject({
      replicas: z.coerce.number().int().default(1),
      resources: z.strictObject({ limits: z.strictObject({ cpus: z.string(), memory: z.string() }) }),
    })
    .optional(),
});

const fileSchema = z.object({
  name: z.string(),
  services: z.record(z.string(), serviceSchema),
  networks: z.record(
    z.string(),
    z.strictObject({
      internal: z.boolean().default(false),
      driver_opts: z.record(z.string(), z.string()).default({}),
    }),
  ),
  volumes: z.record(z.string(), z.strictObject({})),
});

export type Service = z.infer<typeof serviceSchema>;
export type ComposeFile = z.infer<typeof fileSchema>;
export type Settings = Readonly<Record<string, string>>;

/** Replaces `${NAME:-default}`, `${NAME:?message}` and `$$`. @throws Error when a required variable is not set */
const substituted = (text: string, settings: Settings): string =>
  text.replaceAll(/\$\$|\$\{(\w+):([-?])([^}]*)\}/g, (_, name?: string, operator?: string, rest = '') => {
    if (name === undefined) return '$';
    const value = settings[name] ?? '';
    if (value === '' && operator === '?') throw new Error(`${name}: ${rest}`);
    return value === '' ? rest : value;
  });

/**
 * Reads a Compose file without Compose, for machines that only have Docker.
 * @throws Error for a variable that is not set, and for a member that this program does not apply
 */
export const readComposeFile = (text: string, settings: Settings): ComposeFile =>
  fileSchema.parse(
    parse(
      text,
      (_: unknown, value: unknown) => (typeof value === 'string' ? substituted(value, settings) : value),
      { merge: true },
    ),
  );

const each = (flag: string, values: readonly string[]): readonly string[] =>
  values.flatMap((value) => [`--${flag}`, value]);
const pairs = (values: Settings): readonly string[] =>
  Object.entries(values).map(([name, value]) => `${name}=${value}`);

const healthCheckArguments = (check: Service['healthcheck']): readonly string[] => {
  if (check === undefined) return [];
  if ('disable' in check) return ['--no-healthcheck'];
  return flags({
    'health-cmd': check.test[1],
    'health-interval': check.interval,
    'health-timeout': check.timeout,
    'health-retries': check.retries,
    'health-start-period': check.start_period,
  });
};

/** A path, or a volume of the project. */
const mountOf = (mount: string, project: string, folder: string): string => {
  const [source = '', ...rest] = mount.split(':');
  const isPath = source.startsWith('.') || source.startsWith('/');
  return [isPath ? resolve(folder, source) : `${project}_${source}`, ...rest].join(':');
};

/** A container of a service. */
export interface Container {
  readonly name: string;
  /** Its name in the networks of the project. */
  readonly alias: string;
  readonly service: Service;
}

/**
 * Arguments of `docker create` for its first network. The others are joined with `docker network connect`.
 * @param folder that of the Compose file
 * @param command default: that of the service
 */
export const createArguments = (
  { name, alias, service }: Container,
  project: string,
  folder: string,
  command: readonly string[] = service.command ?? [],
): readonly string[] => {
  const [program, ...before] = service.entrypoint ?? [];
  const mounts = service.volumes.map((mount) => mountOf(mount, project, folder));
  return [
    'create',
    ...flags({
      name,
      network: `${project}_${service.networks[0] ?? ''}`,
      'network-alias': alias,
      restart: service.restart,
      user: service.user,
      'stop-timeout': service.stop_grace_period,
      'shm-size': service.shm_size,
      'log-driver': service.logging.driver,
      ...service.deploy?.resources.limits,
      entrypoint: program,
    }),
    ...(service.init ? ['--init'] : []),
    ...(service.read_only ? ['--read-only'] : []),
    ...each('tmpfs', service.tmpfs),
    ...each('cap-drop', service.cap_drop),
    ...each('security-opt', service.security_opt),
    ...each('log-opt', pairs(service.logging.options)),
    ...each('env', pairs(service.environment)),
    ...each('publish', service.ports),
    ...each('volume', mounts),
    ...healthCheckArguments(service.healthcheck),
    service.image,
    ...before,
    ...command,
  ];
};
