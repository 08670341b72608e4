import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** `tls`: from the first byte, by STARTTLS before anything else is sent, or none. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  readonly tls: 'implicit' | 'starttls' | 'off';
  readonly login?: { readonly user: string; readonly pass: string };
}

const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const;

/** `smtp[s]://[user:password@]host[:port][?tls=off|required]`. @throws RangeError without the text */
export const parseSmtpUrl = (text: string): SmtpServer => {
  if (!URL.canParse(text)) throw wrong();
  const url = new URL(text);
  const { protocol, hostname, port, username, password, pathname, searchParams, hash } = url;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const isKnown = [...searchParams.keys()].every((name) => name === 'tls');
  if (!isSmtp(protocol) || host === '' || hash !== '' || !isKnown || !/^\/?$/.test(pathname)) throw wrong();
  if ((username === '') !== (password === '')) throw wrong();
  const tls = tlsOf(protocol, host, searchParams.get('tls'));
  if (tls === 'off' && username !== '' && !isLoopback(host)) {
    throw new RangeError('must not send a password without TLS');
  }
  return {
    host,
    port: port === '' ? PORTS[protocol] : Number(port),
    tls,
    ...(username !== '' && { login: { user: decode(username), pass: decode(password) } }),
  };
};

const isSmtp = (protocol: string): protocol is keyof typeof PORTS => Object.hasOwn(PORTS, protocol);

/** A server on this machine needs no TLS: its certificate would name another host. */
const tlsOf = (protocol: keyof typeof PORTS, host: string, asked: string | null): SmtpServer['tls'] => {
  if (asked !== null && asked !== 'off' && asked !== 'required') throw wrong();
  if (protocol === 'smtps:') {
    if (asked === 'off') throw wrong();
    return 'implicit';
  }
  if (asked !== null) return asked === 'off' ? 'off' : 'starttls';
  return isLoopback(host) ? 'off' : 'starttls';
};

const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong();
  }
};

const wrong = (): RangeError =>
  new RangeError(
    'must be smtp://[user:password@]host[:port][?tls=off or ?tls=required] or smtps://[user:password@]host[:port], user and password percent-encoded',
  );
