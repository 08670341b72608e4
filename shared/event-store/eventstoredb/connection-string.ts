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

/** Stricter than the client, which prints the whole string, with the password, if an option is unknown. */
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

/** The client could parse other addresses as an option, and then print the password. No IPv6. */
export const isUsable = ({ address, port }: Endpoint): boolean =>
  HOST.test(address) && Number.isInteger(port) && port > 0 && port <= PORT_MAX;

/** The client uses a single node without discovery. */
export const forEndpoint = (connectionString: string, { address, port }: Endpoint): string => {
  const { user = '', query } = SHAPE.exec(connectionString)?.groups ?? {};
  return `esdb://${user}${address}:${port}${query === undefined ? '' : `?${query}`}`;
};

const plain = (name: string): string => name.trim().toLowerCase().replaceAll(/[_-]/g, '');

/** The client uses the last value of a name. */
export const withOption = (connectionString: string, name: string, value: string | number): string =>
  `${connectionString.replace(/\/$/, '')}${connectionString.includes('?') ? '&' : '?'}${name}=${value}`;

export const optionOf = (connectionString: string, name: string, fallback: number): number => {
  const query = SHAPE.exec(connectionString)?.groups?.['query'] ?? '';
  const pair = query.split('&').find((one) => plain(one.split('=')[0] ?? '') === name.toLowerCase());
  return pair === undefined ? fallback : Number(pair.split('=')[1]);
};
