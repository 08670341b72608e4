import ipaddr from 'ipaddr.js';

export type UrlProblem = string;

export interface OutboundPolicy {
  readonly allowLoopback: boolean;
  /** E.g. `NAME=true`, for the error text. Undefined if an operator cannot set it, or has. */
  readonly loopbackSetting?: string | undefined;
}

/** A name with a single label only exists inside a private network. */
const INTERNAL_NAME = /^[^.]+$|(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|arpa|onion)$/;

/** The URL parser also reads `https:example.com`, which other programs treat as a relative address. */
const HTTP_AND_HOST = /^https?:\/\/[^/\\]/i;

const NOT_HTTPS = 'must be a URL starting with https://';

/** Only the text: addresses can change until the connection is made (`guardedLookup`). */
export const urlProblem = (text: string, policy: OutboundPolicy): UrlProblem | undefined => {
  const problem = problemOf(text, policy.allowLoopback);
  const wouldDo = problem !== undefined && problemOf(text, true) === undefined;
  if (!wouldDo || policy.loopbackSetting === undefined) return problem;
  return `${problem}, unless the service is started with ${policy.loopbackSetting}`;
};

const problemOf = (text: string, allowLoopback: boolean): UrlProblem | undefined => {
  if (!URL.canParse(text)) return 'must be a URL';
  if (!HTTP_AND_HOST.test(text)) return NOT_HTTPS;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  const host = hostOf(url);
  if (allowLoopback && isLoopback(host)) return undefined;
  if (url.protocol !== 'https:') return NOT_HTTPS;
  if (url.port !== '') return 'must use the usual port of https';
  const isPublic = ipaddr.isValid(host) ? isPublicAddress(host) : !INTERNAL_NAME.test(host);
  return isPublic ? undefined : 'must name a host on the public internet';
};

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');

/** Another port of a loopback address is another server, as in tests and on a developer's machine. */
export const isOwnAddress = (text: string, baseUrl: string): boolean => {
  if (!URL.canParse(text)) return false;
  const [url, own] = [new URL(text), new URL(baseUrl)];
  const isOwnHost = hostOf(url) === hostOf(own);
  return isOwnHost && (!isLoopback(hostOf(own)) || portOf(url) === portOf(own));
};

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80');

const isLoopback = (host: string): boolean =>
  host === 'localhost' || (ipaddr.isValid(host) && isLoopbackAddress(host));

/** The public part of IPv6. Everything else, e.g. `::127.0.0.1`, has another use. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** IPv4 inside IPv6 is checked as IPv4; addresses of gateways (NAT64, 6to4) are not public. */
export const isPublicAddress = (text: string): boolean => {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(GLOBAL_IPV6));
};

export const isLoopbackAddress = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';
