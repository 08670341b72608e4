import { Resolver } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import { readFile } from 'node:fs/promises';
import ipaddr from 'ipaddr.js';
import { createLimit, type Limit } from '../async/limit.ts';
import { timeout } from '../async/timeout.ts';

export type ResolveName = (
  name: string,
  onAnswer: (error: Error | null, addresses?: readonly LookupAddress[]) => void,
) => void;

export interface NameResolverOptions {
  /** `address` or `address:port`. Default: the servers of /etc/resolv.conf. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly withinMs?: number;
  /** Names that are asked for at the same time. */
  readonly atOnceMax?: number;
}

const WITHIN_MS = 3_000;
/** The first try, then one repetition after it: a lost packet costs a second, not the look-up. */
const TRY_MS = 1_000;
const AT_ONCE_MAX = 256;
const WAITING_MAX = 1_000;
const HOSTS_MS = 5_000;

class ResolverBusyError extends Error {
  override readonly name = 'ResolverBusyError';
}

/**
 * Resolves names with sockets and limits that nothing else uses. The system's `lookup` blocks one of the four threads
 * of libuv until it ends, so a few names without an answer would delay connections to the stores. Like the system, it
 * prefers /etc/hosts; unlike it, it does not append search domains: names of the outside are complete.
 */
export const createNameResolver = ({
  servers,
  hostsFile = '/etc/hosts',
  withinMs = WITHIN_MS,
  atOnceMax = AT_ONCE_MAX,
}: NameResolverOptions = {}): ResolveName => {
  const hosts = cachedHosts(hostsFile);
  const limit = createLimit({
    atOnceMax,
    waitingMax: WAITING_MAX,
    tooBusy: () => new ResolverBusyError('too many names are being resolved'),
  });
  const running = new Map<string, Promise<readonly LookupAddress[]>>();
  const ask = (name: string): Promise<readonly LookupAddress[]> => {
    const known = running.get(name);
    if (known !== undefined) return known;
    const asked = askServers(name, servers, withinMs, limit).finally(() => running.delete(name));
    running.set(name, asked);
    return asked;
  };
  return (name, onAnswer) => {
    const key = name.toLowerCase().replace(/\.$/, '');
    hosts()
      .then((table) => table.get(key) ?? ask(key))
      .then(
        (addresses) => onAnswer(null, addresses),
        (error: unknown) => onAnswer(error instanceof Error ? error : new Error(String(error))),
      );
  };
};

const askServers = (
  name: string,
  servers: readonly string[] | undefined,
  withinMs: number,
  limit: Limit,
): Promise<readonly LookupAddress[]> =>
  limit(withinMs, async () => {
    // A new one for each name reads /etc/resolv.conf again, and can be cancelled alone.
    const resolver = new Resolver({ timeout: TRY_MS, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const families = [
      resolver.resolve4(name).then((found) => found.map((address) => ({ address, family: 4 }))),
      resolver.resolve6(name).then((found) => found.map((address) => ({ address, family: 6 }))),
    ];
    const answers = await timeout(withinMs, Promise.allSettled(families)).finally(() => resolver.cancel());
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const [first] = answers;
    if (addresses.length === 0) throw first?.status === 'rejected' ? first.reason : new Error('no address');
    return addresses;
  });

type Hosts = ReadonlyMap<string, readonly LookupAddress[]>;

const cachedHosts = (path: string): (() => Promise<Hosts>) => {
  let read: Promise<Hosts> | undefined;
  let readAt = 0;
  return () => {
    const now = performance.now();
    if (read === undefined || now - readAt > HOSTS_MS) {
      readAt = now;
      read = readFile(path, 'utf8').then(parseHosts, () => parseHosts(''));
    }
    return read;
  };
};

/** `localhost` is loopback even where the file does not name it. */
const parseHosts = (text: string): Hosts => {
  const table = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!ipaddr.isValid(address)) continue;
    const family = ipaddr.parse(address).kind() === 'ipv6' ? 6 : 4;
    for (const name of names) {
      const key = name.toLowerCase();
      table.set(key, [...(table.get(key) ?? []), { address, family }]);
    }
  }
  if (!table.has('localhost')) table.set('localhost', [{ address: '127.0.0.1', family: 4 }]);
  return table;
};
