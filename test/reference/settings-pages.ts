import { variables } from '../../app/config.ts';
import { plainDefault } from '../../cli/config-command.ts';
import { GENERATED, pageOf, tableOf } from './markdown.ts';

interface Setting {
  readonly name: string;
  readonly about: string;
  /** Empty if the setting has no fixed default. */
  readonly value: string;
}

const GROUPS: readonly (readonly [heading: string, names: RegExp])[] = [
  ['Process', /^(?:NODE_ENV|ROLES|DATA_DIR|EXCHANGE_)/],
  ['HTTP', /^(?:PORT|HOST|BASE_URL|TRUSTED_PROXIES|CONNECTIONS_MAX|DRAIN_)/],
  ['Logs', /^LOG_(?:LEVEL|FORMAT)$/],
  ['Stores', /^(?:DATABASE_|POSTGRES_|EVENTSTORE_|REDIS_)/],
  ['Assets', /^(?:ASSET_|UPLOAD)/],
  ['Keys and seals', /^(?:SECRET_|LOG_S|LOG_V)/],
  ['Calls to agents and other servers', /^(?:OUTBOUND_|AGENT_|BRAND_)/],
  ['Mail', /^(?:SMTP_|MAIL_)/],
  ['Limits', /^(?:LIMIT_|CONVERSIONS_)/],
  ['Other', /^/],
];

const settings = (): readonly Setting[] =>
  Object.entries(variables).map(([name, schema]) => ({
    name,
    about: schema.description ?? '',
    value: String(plainDefault(schema.safeParse(undefined).data) ?? ''),
  }));

const groups = (): readonly (readonly [string, readonly Setting[]])[] => {
  const left = new Set(settings());
  return GROUPS.flatMap(([heading, names]) => {
    const members = [...left].filter(({ name }) => names.test(name));
    for (const one of members) left.delete(one);
    return members.length === 0 ? [] : [[heading, members] as const];
  });
};

const configurationPage = (): string =>
  pageOf(
    '# Configuration',
    `Every setting is an environment variable, read once at start. ${GENERATED}`,
    'An empty variable counts as not set. If a value is invalid, the start ends with status 2 and a message that names the ' +
      'variable, never its value. `npx exchange config` prints this list. The commands of the operator read the ' +
      'same settings. [.env.example](../../.env.example) lists them for copying.',
    ...groups().flatMap(([heading, members]) => [
      `## ${heading}`,
      tableOf(
        ['setting', 'default', 'meaning'],
        members.map(({ name, value, about }) => [`\`${name}\``, value === '' ? '' : `\`${value}\``, about]),
      ),
    ]),
    '## In production',
    '`NODE_ENV=production` refuses `EXCHANGE_FAILPOINTS` and `OUTBOUND_ALLOW_LOOPBACK=true`. With `DATABASE_URL` it requires ' +
      '`SECRET_KEYS`, because a key in the folder of one machine is missing on the others.',
  );

const environmentExample = (): string =>
  [
    '# Every setting with its default. Copy this file to .env, remove the # before the settings to change, then run:',
    '#   set -a && . ./.env && set +a && npm start',
    `# ${GENERATED.replaceAll('`', '').replace('page', 'file')}`,
    ...groups().flatMap(([heading, members]) => [
      '',
      `## ${heading}`,
      ...members.flatMap(({ name, value, about }) => ['', `# ${about}`, `# ${name}=${shellText(value)}`]),
    ]),
    '',
  ].join('\n');

const shellText = (value: string): string => (/^[\w.,:/-]*$/.test(value) ? value : `'${value}'`);

export const settingsPages = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/reference/configuration.md', configurationPage()],
    ['.env.example', environmentExample()],
  ]);
