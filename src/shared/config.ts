import { z } from 'zod';
import { connectionStringProblem } from './event-store/eventstoredb/connection-string.ts';

/**
 * Every setting of the program. Read once at start from the environment; a wrong value stops the start with
 * a message that names the variable. `npm run -s exchange -- config` prints this list.
 */

const port = z
  .string()
  .regex(/^\d{1,5}$/, 'a port number, 0 to 65535')
  .transform(Number)
  .pipe(z.int().max(65_535));

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, `a whole number, ${min} to ${max}`)
    .transform(Number)
    .pipe(z.int().min(min).max(max));

const urlOf = (...protocols: readonly string[]) =>
  z
    .string()
    .refine(
      (url) => URL.canParse(url) && protocols.includes(new URL(url).protocol),
      `a URL starting with ${protocols.join(' or ')}//`,
    );

/** Checked by hand: several hosts make no URL, and the client prints a string that it does not like. */
const eventStoreDbUrl = z.string().superRefine((url, context) => {
  const message = connectionStringProblem(url);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

const roles = ['api', 'projector', 'worker'] as const;
export type Role = (typeof roles)[number];

const rolesList = z
  .string()
  .transform((list) => list.split(',').map((role) => role.trim()))
  .pipe(z.array(z.enum(roles, `any of ${roles.join(', ')}, separated by commas`)).min(1));

/** One entry a variable: what it means, its unit, its default. */
export const variables = {
  NODE_ENV: z
    .enum(['development', 'production', 'test'])
    .default('development')
    .describe('`production` refuses development conveniences: a printed API key, a superuser database role.'),
  PORT: port.default(3000).describe('TCP port to listen on; 0 picks a free one.'),
  HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on; 0.0.0.0 for all.'),
  BASE_URL: urlOf('http:', 'https:')
    .optional()
    .describe('How clients reach the service, e.g. https://api.example.com. Default: http://HOST:PORT.'),
  DATA_DIR: z.string().min(1).default('.data').describe('Folder of the embedded Postgres and its secrets.'),
  DATABASE_URL: urlOf('postgres:', 'postgresql:')
    .optional()
    .describe('An existing Postgres (14 or newer) instead of the embedded one.'),
  DATABASE_POOL_MAX: integer(2, 500)
    .default(10)
    .describe('Connections of one process to Postgres at most, besides nine of its own.'),
  EVENTSTORE_URL: eventStoreDbUrl
    .optional()
    .describe('EventStoreDB for the events (esdb: or esdb+discover:) instead of Postgres.'),
  REDIS_URL: urlOf('redis:', 'rediss:')
    .optional()
    .describe('Redis for jobs and limits. Nothing uses it yet: refused.'),
  ASSET_STORE_URL: z.string().optional().describe('Store of asset bytes. Nothing uses it yet: refused.'),
  ROLES: rolesList.default([...roles]).describe('What this process does: api, projector, worker.'),
  EXCHANGE_FAILPOINTS: z
    .string()
    .regex(/^[a-z-]+:[0-9.]+(,[a-z-]+:[0-9.]+)*$/, 'must be name:probability, separated by commas')
    .optional()
    .describe('For fault tests: where the process kills itself. Refused in production.'),
  EXCHANGE_FAILPOINT_FILE: z.string().default('').describe('For fault tests: hits are added to this file.'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('Least severe log line to write.'),
} as const;

const Environment = z.object(variables);
export type Config = z.output<typeof Environment>;

/** A setting is wrong; the message names the variable and what it may be. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Parts of the distributed profile that this version does not have: better refused than silently ignored. */
const notYetAvailable = ['REDIS_URL', 'ASSET_STORE_URL'] as const;

/**
 * Reads the configuration. An empty variable counts as not set.
 * @throws ConfigError naming every wrong variable, never its value (it may hold a password)
 */
export const readConfig = (environment: Readonly<Record<string, string | undefined>>): Config => {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${String(issue.path[0])}: ${issue.message}`);
    throw new ConfigError(`Wrong configuration.\n  ${problems.join('\n  ')}`);
  }
  for (const name of notYetAvailable) {
    if (parsed.data[name] !== undefined) {
      throw new ConfigError(`Wrong configuration.\n  ${name}: not available in this version; unset it`);
    }
  }
  if (parsed.data.NODE_ENV === 'production' && parsed.data.EXCHANGE_FAILPOINTS !== undefined) {
    throw new ConfigError('Wrong configuration.\n  EXCHANGE_FAILPOINTS: not in production');
  }
  return parsed.data;
};
