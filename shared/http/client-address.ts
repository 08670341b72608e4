import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Proxies that may set `X-Forwarded-For`; trusting all addresses is not possible. */
export type TrustedProxies =
  { readonly hops: number } | { readonly networks: readonly (readonly [Address, number])[] };

/** `2` (hops) or `10.0.0.0/8, 2001:db8::7`. @throws Error */
export const parseTrustedProxies = (text: string): TrustedProxies => {
  if (/^\d$/.test(text)) return { hops: Number(text) };
  return { networks: text.split(',').map((network) => parseNetwork(network.trim())) };
};

const parseNetwork = (text: string): readonly [Address, number] => {
  const [address = '', bits, more] = text.split('/');
  const parsed = addressOf(address);
  const bitsMax = parsed?.kind() === 'ipv4' ? 32 : 128;
  const length = bits === undefined ? bitsMax : /^\d{1,3}$/.test(bits) ? Number(bits) : 0;
  if (parsed === undefined || more !== undefined || length < 1 || length > bitsMax) {
    throw new Error('must be a number of hops, 0 to 9, or networks like 10.0.0.0/8, separated by commas');
  }
  return [parsed, length];
};

/** An IPv4 address inside IPv6 counts as IPv4. */
const addressOf = (text: string): Address | undefined => {
  const [address = ''] = text.split('%');
  return isIP(address) === 0 ? undefined : ipaddr.process(address);
};

const WITH_PORT = /^(?:\[([0-9A-Fa-f:.]{2,45})\](?::\d{1,5})?|(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5})$/;

const forwardedAddressOf = (text: string): Address | undefined => {
  if (text.length > 64) return undefined;
  const match = WITH_PORT.exec(text);
  return addressOf(match?.[1] ?? match?.[2] ?? text);
};

/** IPv4 address, or /64 network of an IPv6 address (specification, Rate limits). */
const subjectOf = (address: Address): string =>
  address.kind() === 'ipv4'
    ? address.toString()
    : `${(address as ipaddr.IPv6).parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::/64`;

const NO_ADDRESS = 'unknown';

export type ClientAddress = (request: IncomingMessage) => string;

/** Reads the header from its end: text that a client puts in front never counts. */
export const createClientAddress = (trusted: TrustedProxies): ClientAddress => {
  const isTrusted =
    'hops' in trusted
      ? (_address: Address, hop: number): boolean => hop < trusted.hops
      : (address: Address): boolean =>
          trusted.networks.some(
            ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
          );
  const own = new WeakMap<Socket, { readonly address: Address | undefined; readonly subject: string }>();

  const ownOf = (socket: Socket) => {
    let kept = own.get(socket);
    if (kept === undefined) {
      const address = addressOf(socket.remoteAddress ?? '');
      kept = { address, subject: address === undefined ? NO_ADDRESS : subjectOf(address) };
      own.set(socket, kept);
    }
    return kept;
  };

  return (request) => {
    const { address, subject } = ownOf(request.socket);
    if (address === undefined || !isTrusted(address, 0)) return subject;
    const client = behindProxies(address, request.headersDistinct['x-forwarded-for'] ?? [], isTrusted);
    return client === address ? subject : subjectOf(client);
  };
};

const behindProxies = (
  nearest: Address,
  forwardedFor: readonly string[],
  isTrusted: (address: Address, hop: number) => boolean,
): Address => {
  const reported = forwardedFor.join(',').split(',');
  let client = nearest;
  for (let hop = 0; isTrusted(client, hop) && reported.length > 0; hop++) {
    const next = forwardedAddressOf((reported.pop() ?? '').trim());
    if (next === undefined) return client;
    client = next;
  }
  return client;
};
