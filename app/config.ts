import { z } from 'zod';
import { connectionStringProblem } from '../shared/event-store/eventstoredb/connection-string.ts';
import { parseTrustedProxies, type TrustedProxies } from '../shared/http/client-address.ts';
import { check } from '../shared/http/problems.ts';
import { parseSender, type Sender } from '../shared/mail/mail-address.ts';
import { parseSmtpUrl, type SmtpServer } from '../shared/mail/smtp-server.ts';
import type { OutboundPolicy } from '../shared/outbound/outbound-url.ts';
import { RefusedLoginError } from '../shared/postgres/connection-problem.ts';
import { ForeignSchemaError } from '../shared/postgres/migrate.ts';
import { parseKeyRing, type KeyRing } from '../shared/secrets/key-ring.ts';
import { DataFolderError } from '../shared/storage/data-folder.ts';
import { parseS3Location, type S3Location } from '../shared/storage/s3-location.ts';
import { parseUploadLimits, type UploadBytesMax } from '../command/assets/upload-limits.ts';
import { specifiedLimits, type Limit, type LimitName, type Limits } from '../shared/limits/limits.ts';
import { misspeltSettings } from './misspelt-settings.ts';

/** Every setting, read once at start. A wrong value stops it with a message that names the variable. */

const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number, 0 to 65535')
  .transform(Number)
  .pipe(z.int().max(65_535, 'must be a port number, 0 to 65535'));

const integer = (min: number, max: number) => {
  const problem = `must be a whole number, ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, problem)
    .transform(Number)
    .pipe(z.int().min(min, problem).max(max, problem));
};

const urlOf = (...protocols: readonly string[]) =>
  z
    .string()
    .refine(
      (url) =>
        URL.canParse(url) && protocols.some((protocol) => url.toLowerCase().startsWith(`${protocol}//`)),
      `must be a URL starting with ${protocols.join(' or ')}//`,
    );

/** Checked by hand: several hosts make no URL, and the client's own error would print the string. */
const eventStoreDbUrl = z.string().check(({ value: input, issues }) => {
  const message = connectionStringProblem(input);
  if (message !== undefined) issues.push({ code: 'custom', input, message, continue: true });
});

/** `100` requests in the specified window, or `100/60`: requests, and the window's seconds. */
const limitOf = (name: LimitName, what: string) => {
  const specified = specifiedLimits[name];
  return z
    .string()
    .regex(/^[1-9]\d{0,8}(?:\/[1-9]\d{0,4})?$/, 'must be requests, or requests/seconds, e.g. 100/60')
    .transform((text): Limit => {
      const [requests, seconds] = text.split('/').map(Number);
      return {
        requests: requests ?? specified.requests,
        windowSeconds: seconds ?? specified.windowSeconds,
      };
    })
    .default(specified)
    .describe(`${what}. Default ${specified.requests}/${specified.windowSeconds}: requests/seconds.`);
};

const parsedBy = <T>(parse: (text: string) => T) =>
  z.string().transform((text, context): T => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'invalid' });
      return z.NEVER;
    }
  });

const trustedProxies = parsedBy((text): TrustedProxies => parseTrustedProxies(text)).default({ hops: 0 });

const secretKeys = parsedBy((text): KeyRing => parseKeyRing(text)).optional();

const assetStore = parsedBy((text): S3Location => parseS3Location(text)).optional();

const smtpUrl = parsedBy((text): SmtpServer => parseSmtpUrl(text)).optional();

const mailFrom = parsedBy((text): Sender => parseSender(text)).prefault(
  'Buyer Exchange <no-reply@localhost>',
);

const uploadLimits = parsedBy((text): UploadBytesMax => parseUploadLimits(text)).prefault('104857600');

const roles = ['api', 'projector', 'worker'] as const;
export type Role = (typeof roles)[number];

const rolesList = z
  .string()
  .transform((list) => list.split(',').map((role) => role.trim()))
  .pipe(z.array(z.enum(roles, `must be any of ${roles.join(', ')}, separated by commas`)).min(1));

const namesList = z
  .string()
  .transform((list) => list.split(',').map((name) => name.trim().toLowerCase()))
  .pipe(z.array(z.string().regex(/^[a-z0-9.-]{1,253}$/, 'must be host names, separated by commas')))
  .default([]);

export const variables = {
  NODE_ENV: z
    .enum(['development', 'production', 'test'])
    .default('development')
    .describe('`production` refuses development conveniences: a printed API key, a superuser database role.'),
  PORT: port.default(3000).describe('TCP port to listen on; 0 picks a free one.'),
  HOST: z.string().min(1).default('127.0.0.1').describe('Address to listen on; 0.0.0.0 for all.'),
  OPERATOR_PORT: port
    .optional()
    .describe(
      'TCP port for operators: metrics, job queues, profiles, log level. It needs no credential. 0 picks a free one. Default: the port after PORT, or a free one if that is taken.',
    ),
  OPERATOR_HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address of OPERATOR_PORT. Other than loopback only in a network that clients cannot reach.'),
  PUBLIC_METRICS: z
    .enum(['true', 'false'])
    .default('false')
    .describe('`true`: `GET /metrics` is also on PORT, for everyone who reaches it.'),
  BASE_URL: urlOf('http:', 'https:')
    // Paths are appended as they are.
    .transform((url) => url.replace(/\/+$/, ''))
    .optional()
    .describe('How clients reach the service, e.g. https://api.example.com. Default: http://HOST:PORT.'),
  DATA_DIR: z
    .string()
    .min(1)
    .default('.data')
    .describe('Folder of the embedded Postgres, its secrets and the bytes of assets.'),
  DATABASE_URL: urlOf('postgres:', 'postgresql:')
    .optional()
    .describe('An existing Postgres (14 or newer) instead of the embedded one.'),
  POSTGRES_BUFFERS_MB: integer(16, 1_048_576)
    .optional()
    .describe('Shared buffers of the embedded Postgres, MB. Default: a quarter of the memory, at most 256.'),
  POSTGRES_WAL_MB: integer(128, 1_048_576)
    .optional()
    .describe(
      'Write-ahead log of the embedded Postgres between two checkpoints, MB. Default: a tenth of the free disk, at most 1024.',
    ),
  DATABASE_POOL_MAX: integer(2, 500)
    .default(10)
    .describe(
      'Connections to Postgres that requests of one process share, at most. It also has other connections: docs/operate/capacity.md.',
    ),
  EVENTSTORE_URL: eventStoreDbUrl
    .optional()
    .describe('EventStoreDB for the events (esdb: or esdb+discover:) instead of Postgres.'),
  REDIS_URL: urlOf('redis:', 'rediss:')
    .optional()
    .describe(
      'Redis for jobs and the counters of the rate limits. Default: Postgres; counters of a single process are in its memory.',
    ),
  REDIS_KEY_PREFIX: z
    .string()
    .regex(/^[\w.:-]{0,64}$/, 'must be up to 64 letters, digits, "_", ".", ":" or "-"')
    .default('buyer-exchange:')
    .describe('Begins every key in Redis, so that installations can share one.'),
  SECRET_KEYS: secretKeys.describe(
    'Keys that secrets (tokens of agents, keys for creative engines) are encrypted and addresses of uploads are signed with: id:key pairs, separated by commas, the first one in use; a key is 32 bytes as base64url. Default: one is drawn and kept in DATA_DIR.',
  ),
  SMTP_URL: smtpUrl.describe(
    'Mail server for mails to users: smtp://[user:password@]host[:port] (STARTTLS is required, except on loopback; ?tls=off, ?tls=required) or smtps://[user:password@]host[:port]. Default: mails become files in DATA_DIR/outbox, and addresses are not verified.',
  ),
  MAIL_FROM: mailFrom.describe(
    'Sender of mails: an address, or a name and an <address>. Required with SMTP_URL. Default: Buyer Exchange <no-reply@localhost>.',
  ),
  OUTBOUND_ALLOW_LOOPBACK: z
    .enum(['true', 'false'])
    .default('false')
    .describe('For development: agents may be at loopback addresses, over http, too. Refused in production.'),
  AGENT_CHECK_MS: integer(0, 2_000)
    .default(1_500)
    .describe(
      'Milliseconds that an agent has to say what it offers when it is registered; 0: it is not asked.',
    ),
  PROPOSAL_SELLER_MS: integer(100, 600_000)
    .default(30_000)
    .describe(
      'For development: milliseconds that each seller has to answer a proposal request. Default: 30000, as specified.',
    ),
  PROPOSAL_ANSWER_DAYS: integer(1, 3_650)
    .default(90)
    .describe(
      'For how many days the whole answers of sellers to proposal requests, and lists of products of several pages, are kept.',
    ),
  DELIVERY_REPORT_SECONDS: integer(1, 86_400)
    .default(3_600)
    .describe(
      'How often each connected seller is asked for the delivery of the media buys of each account that has asked it for proposals.',
    ),
  BRAND_LOOKUP_MS: integer(0, 2_000)
    .default(0)
    .describe(
      "Milliseconds that a brand's own domain has to say who it is (https://DOMAIN/.well-known/brand.json), when an advertiser is linked to it; 0: it is not asked.",
    ),
  MCP_HOSTS: namesList.describe(
    'Further host names under which agents reach /mcp and /adcp/mcp, separated by commas. Default: only that of BASE_URL, and those of this machine.',
  ),
  MCP_CALL_MS: integer(1, 1_800_000)
    .default(1_800_000)
    .describe('Milliseconds that a call of a tool may take.'),
  MCP_CONNECTION_MS: integer(1, 1_800_000)
    .default(1_800_000)
    .describe("Milliseconds until an agent's stream ends."),
  MCP_SESSION_IDLE_MS: integer(60, 86_400_000)
    .default(3_600_000)
    .describe("Milliseconds without a request until an agent's session ends."),
  ASSET_STORE_URL: assetStore.describe(
    'S3-compatible store of asset bytes: s3://[key:secret@]bucket[/prefix]?region=REGION[&endpoint=URL]. Default: a folder in DATA_DIR.',
  ),
  UPLOAD_BYTES_MAX: uploadLimits.describe(
    'The largest upload, bytes; and for media types, e.g. 104857600,image/*=10485760. Default: 104857600.',
  ),
  UPLOADS_OPEN_MAX: integer(1, 100_000)
    .default(100)
    .describe('Uploads that one client address, and one account, may have open at once in this process.'),
  LOG_SIGNING_KEYS: secretKeys.describe(
    'Keys that checkpoints of the log are signed with: id:key pairs, separated by commas, the first one in use; a key is the 32 bytes of an Ed25519 seed as base64url. Without one, checkpoints are not signed, and an attacker who can write to the database can forge them. With one, only signed checkpoints are continued.',
  ),
  LOG_VERIFY_KEYS: secretKeys.describe(
    'Public keys of checkpoints of the log that were signed with other keys than those: id:key pairs, as `exchange log keys` prints them.',
  ),
  LOG_SEAL_SECONDS: integer(0, 86_400)
    .default(60)
    .describe('How often a projector seals what is new in the log; 0: never.'),
  ROLES: rolesList.default([...roles]).describe('What this process does: api, projector, worker.'),
  CONVERSIONS_MEMORY_MB: integer(16, 100_000)
    .optional()
    .describe(
      'Memory of one process for the conversion events that it knows, MB: some 30 bytes an event. Default: 512, or a quarter of the memory of its container or machine if that is less. More than half of that memory is refused.',
    ),
  TRUSTED_PROXIES: trustedProxies.describe(
    'Proxies whose X-Forwarded-For is trusted: a number of hops (0 to 9), or networks like 10.0.0.0/8, separated by commas. Default: none.',
  ),
  CONNECTIONS_MAX: integer(1, 1_000_000)
    .default(10_000)
    .describe('Open connections of clients at most; a further one is closed at once.'),
  DRAIN_DELAY_MS: integer(0, 60_000)
    .default(0)
    .describe(
      'Milliseconds from SIGTERM until the process takes no more connections; `/ready` is 503 meanwhile. Above 0 behind a load balancer: longer than it takes to notice.',
    ),
  LIMIT_CREDENTIAL: limitOf('credential', 'Requests of one API key or access token'),
  LIMIT_ADDRESS: limitOf('address', 'Requests of one client address, from app sessions and anonymous'),
  LIMIT_UNVERIFIED: limitOf('unverified', 'Credentials of one address that do not verify'),
  LIMIT_AUTH: limitOf('auth', 'Requests of one client address to sign in, and to other paths below /auth/'),
  LIMIT_SIGN_UP: limitOf('signUp', 'Requests of one client address to sign up'),
  LIMIT_PASSWORD_RESET: limitOf('passwordReset', 'Requests of one client address to reset a password'),
  LIMIT_CLIENT_REGISTRATION: limitOf(
    'clientRegistration',
    'Requests of one client address to register an OAuth client',
  ),
  LIMIT_TOKEN: limitOf('token', 'Requests of one client address for OAuth tokens, and to revoke them'),
  LIMIT_INVITATIONS: limitOf('invitations', 'Invitations of one account'),
  LIMIT_INVITED_ADDRESS: limitOf('invitedAddress', 'Invitations of one account to one address'),
  LIMIT_NODES: integer(1, 1_000)
    .default(1)
    .describe(
      'Processes that serve the API. Above 1 they count rate limits together; each allows its part while it cannot.',
    ),
  EXCHANGE_API_KEY: z
    .string()
    .optional()
    .describe('API key with which `exchange listen` calls the service. The service does not read it.'),
  EXCHANGE_FAILPOINTS: z
    .string()
    .regex(/^[a-z-]+:[0-9.]+(,[a-z-]+:[0-9.]+)*$/, 'must be name:probability, separated by commas')
    .optional()
    .describe('For fault tests: where the process kills itself. Refused in production.'),
  EXCHANGE_FAILPOINT_FILE: z.string().default('').describe('For fault tests: hits are added to this file.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: urlOf('http:', 'https:')
    .optional()
    .describe(
      'Collector of OpenTelemetry that takes traces over OTLP/HTTP, e.g. http://127.0.0.1:4318. Other variables of OpenTelemetry hold, too. Default: nothing is traced.',
    ),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('Least severe log line to write.'),
  LOG_FORMAT: z
    .enum(['json', 'pretty'])
    .optional()
    .describe(
      '`json`, or `pretty` for people: a line for each request, warning and error, and everything with LOG_LEVEL=debug. Default: pretty on a terminal, else json.',
    ),
} as const;

const Environment = z.object(variables);
export type Config = z.output<typeof Environment>;

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** True if the operator must change a setting: its message says which, and the program ends with exit code 2. */
export const isConfigError = (error: unknown): error is Error =>
  [ConfigError, ForeignSchemaError, RefusedLoginError, DataFolderError].some((kind) => error instanceof kind);

const wrongConfiguration = (problems: readonly string[]): ConfigError =>
  new ConfigError(`Wrong configuration.\n  ${problems.join('\n  ')}`);

const refuseProblems = (problems: readonly string[]): void => {
  if (problems.length > 0) throw wrongConfiguration(problems);
};

/** Empty means unset. @throws ConfigError naming the wrong variables, never their values (maybe passwords) */
export const readConfig = (environment: Readonly<Record<string, string | undefined>>): Config => {
  const misspelt = misspeltSettings(Object.keys(environment), Object.keys(variables));
  refuseProblems(misspelt.map(([name, setting]) => `${name}: is not a setting, did you mean ${setting}?`));
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const checked = check(Environment, given);
  if (checked.problems !== undefined) {
    const problems = checked.problems.map(({ path, message }) => `${path.split('.')[0]}: ${message}`);
    throw wrongConfiguration(problems);
  }
  if (given['SMTP_URL'] !== undefined && given['MAIL_FROM'] === undefined) {
    refuseProblems(['MAIL_FROM: must be set where SMTP_URL is']);
  }
  if (checked.value.NODE_ENV === 'production') refuseInProduction(checked.value);
  return checked.value;
};

const refuseInProduction = (config: Config): void => {
  const problems = [
    ...(config.EXCHANGE_FAILPOINTS === undefined ? [] : ['EXCHANGE_FAILPOINTS: not in production']),
    ...(config.OUTBOUND_ALLOW_LOOPBACK === 'true' ? ['OUTBOUND_ALLOW_LOOPBACK: not in production'] : []),
    // Other machines do not have a key that is in this machine's folder.
    ...(config.DATABASE_URL !== undefined && config.SECRET_KEYS === undefined
      ? ['SECRET_KEYS: must be set in production where DATABASE_URL is']
      : []),
  ];
  refuseProblems(problems);
};

export const outboundPolicyOf = (
  config: Pick<Config, 'OUTBOUND_ALLOW_LOOPBACK' | 'NODE_ENV'>,
): OutboundPolicy => ({
  allowLoopback: config.OUTBOUND_ALLOW_LOOPBACK === 'true',
  loopbackSetting: config.NODE_ENV === 'production' ? undefined : 'OUTBOUND_ALLOW_LOOPBACK=true',
});

export const limitsOf = (config: Config): Limits => ({
  credential: config.LIMIT_CREDENTIAL,
  address: config.LIMIT_ADDRESS,
  unverified: config.LIMIT_UNVERIFIED,
  auth: config.LIMIT_AUTH,
  signUp: config.LIMIT_SIGN_UP,
  passwordReset: config.LIMIT_PASSWORD_RESET,
  clientRegistration: config.LIMIT_CLIENT_REGISTRATION,
  token: config.LIMIT_TOKEN,
  invitations: config.LIMIT_INVITATIONS,
  invitedAddress: config.LIMIT_INVITED_ADDRESS,
});
