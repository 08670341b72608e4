/** Options of the client's connection string that operators may set. */
const OPTIONS = new Set(
  [
    'connectionName',
    'defaultDeadline',
    'discoveryInterval',
    'gossipTimeout',
    'keepAliveInterval',
    'keepAliveTimeout',
    'maxDiscoverAttempts',
    'nodePreference',
    'tls',
    'tlsCAFile',
    'userCertFile',
    'userKeyFile',
  ].map((name) => name.toLowerCase()),
);
const SHAPE =
  /^esdb(?<discover>\+discover)?:\/\/(?<user>[^:@/]+:[^:@]+@)?(?<hosts>[^@/?,:]+(:\d{1,5})?(,[^@/?,:]+(:\d{1,5})?)*)\/?(\?(?<query>.+))?$/;
const PORT_DEFAULT = 2113;

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/**
 * Returns what is wrong with a connection string, without quoting it; undefined if it is valid. Stricter than the
 * client, which prints the whole string, including the password, if it contains an unknown option.
 */
export const connectionStringProblem = (connectionString: string): string | undefined => {
  const match = SHAPE.exec(connectionString);
  if (match === null) return 'must be like esdb://user:password@host:2113?tls=true or esdb+discover://host';
  const pairs = (match.groups?.['query'] ?? '').split('&').filter((pair) => pair !== '');
  for (const pair of pairs) {
    const [name = '', value = ''] = pair.split('=');
    if (!OPTIONS.has(plain(name))) return `may have the options ${[...OPTIONS].join(', ')} and no others`;
    if (value === '') return `option ${name} has no value`;
    if (plain(name) === 'nodepreference' && plain(value) !== 'leader') {
      return 'nodePreference must be leader: a follower may not have what was just written';
    }
    if (plain(name) === 'tls' && value !== 'true' && value !== 'false') return 'tls must be true or false';
    if (/deadline|interval|timeout|attempts/.test(plain(name)) && !/^-?\d{1,9}$/.test(value)) {
      return `option ${name} must be a whole number`;
    }
  }
  return undefined;
};

/** Returns the nodes in a connection string, and whether other members of their cluster may be discovered. */
export const seedsOf = (
  connectionString: string,
): { readonly seeds: readonly Endpoint[]; readonly isCluster: boolean } => {
  const { discover, hosts = '' } = SHAPE.exec(connectionString)?.groups ?? {};
  const seeds = hosts.split(',').map((host) => {
    const [address = '', port] = host.split(':');
    return { address, port: port === undefined ? PORT_DEFAULT : Number(port) };
  });
  return { seeds, isCluster: discover !== undefined || seeds.length > 1 };
};

const HOST = /^[\w.-]+$/;
const PORT_MAX = 65_535;

/**
 * Rejects addresses that the client could parse as an option of its connection string: it would then print the whole
 * string, including the password. IPv6 addresses are not supported.
 */
export const isUsable = ({ address, port }: Endpoint): boolean =>
  HOST.test(address) && Number.isInteger(port) && port > 0 && port <= PORT_MAX;

/** Returns the connection string for a single node, which the client uses without discovery. */
export const forEndpoint = (connectionString: string, { address, port }: Endpoint): string => {
  const { user = '', query } = SHAPE.exec(connectionString)?.groups ?? {};
  return `esdb://${user}${address}:${port}${query === undefined ? '' : `?${query}`}`;
};

const plain = (name: string): string => name.trim().toLowerCase().replaceAll(/[_-]/g, '');

/** Overrides an option: the client uses the last value of a name. */
export const withOption = (connectionString: string, name: string, value: string | number): string =>
  `${connectionString.replace(/\/$/, '')}${connectionString.includes('?') ? '&' : '?'}${name}=${value}`;

/** Returns the integer value of an option; `fallback` if it is not set. */
export const optionOf = (connectionString: string, name: string, fallback: number): number => {
  const query = SHAPE.exec(connectionString)?.groups?.['query'] ?? '';
  const pair = query.split('&').find((one) => plain(one.split('=')[0] ?? '') === name.toLowerCase());
  return pair === undefined ? fallback : Number(pair.split('=')[1]);
};
