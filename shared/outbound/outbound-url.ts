import ipaddr from 'ipaddr.js';

/** Why an address that somebody gave us is not one that the service connects to. */
export type UrlProblem = string;

export interface OutboundPolicy {
  /** A development setting: plain http and any port, to loopback addresses. */
  readonly allowLoopback: boolean;
  /** What an operator sets to allow them, e.g. `NAME=true`. Undefined where that cannot be set, or is. */
  readonly loopbackSetting?: string | undefined;
}

/** Names that are never a public host's. A name of one label is only known inside some network. */
const INTERNAL_NAME = /^[^.]+$|(?:^|\.)(?:localhost|local|internal|intranet|lan|home|corp|arpa|onion)$/;

const NOT_HTTPS = 'must be a URL starting with https://';

/**
 * What is wrong with a URL as an address to connect to, by its text alone; undefined when nothing is. Where its name
 * leads is judged when the connection is made (`guardedLookup`): a name may lead elsewhere by then.
 */
export const urlProblem = (text: string, policy: OutboundPolicy): UrlProblem | undefined => {
  const problem = problemOf(text, policy.allowLoopback);
  const wouldDo = problem !== undefined && problemOf(text, true) === undefined;
  if (!wouldDo || policy.loopbackSetting === undefined) return problem;
  return `${problem}, unless the service is started with ${policy.loopbackSetting}`;
};

const problemOf = (text: string, allowLoopback: boolean): UrlProblem | undefined => {
  if (!URL.canParse(text)) return 'must be a URL';
  if (!isHttpUrl(text)) return NOT_HTTPS;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  const host = hostOf(url);
  if (allowLoopback && isLoopback(host)) return undefined;
  if (url.protocol !== 'https:') return NOT_HTTPS;
  if (url.port !== '') return 'must use the usual port of https';
  const isPublic = ipaddr.isValid(host) ? isPublicAddress(host) : !INTERNAL_NAME.test(host);
  return isPublic ? undefined : 'must name a host on the public internet';
};

/** The host as it is looked up: without brackets, without the dot that may end a name. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');

const isLoopback = (host: string): boolean =>
  host === 'localhost' || (ipaddr.isValid(host) && isLoopbackAddress(host));

/** What is given out on the public internet; everything else of IPv6, `::127.0.0.1` among it, has some other use. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** IPv4 in any IPv6 disguise that `ipaddr.js` knows is judged as IPv4; what leads through a gateway is not public. */
export const isPublicAddress = (text: string): boolean => {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || address.match(GLOBAL_IPV6));
};

export const isLoopbackAddress = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';

/**
 * Whether text is an address of the web as people write one. The URL parser alone takes more: it makes
 * `https://example.com` of `https:example.com`, which other readers of the same text take for a relative address.
 */
export const isHttpUrl = (text: string): boolean => /^https?:\/\/[^/\\]/i.test(text) && URL.canParse(text);
