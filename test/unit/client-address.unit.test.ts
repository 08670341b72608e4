import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { createClientAddress, parseTrustedProxies } from '../../shared/http/client-address.ts';

/** @param trusted the setting `TRUSTED_PROXIES` */
const addressOf = (
  trusted: string,
  remoteAddress: string | undefined,
  headers: readonly (readonly [name: string, value: string])[] = [],
): string => {
  const headersDistinct: Record<string, string[]> = {};
  for (const [name, value] of headers) (headersDistinct[name.toLowerCase()] ??= []).push(value);
  const request = { socket: { remoteAddress } as Socket, headersDistinct } as unknown as IncomingMessage;
  return createClientAddress(parseTrustedProxies(trusted))(request);
};
const forwarded = (value: string) => [['X-Forwarded-For', value]] as const;

describe('the subject of an address', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::ffff:102:304', '1.2.3.4'],
    ['0:0:0:0:0:ffff:1.2.3.4', '1.2.3.4'],
    ['0000:0000:0000:0000:0000:FFFF:0102:0304', '1.2.3.4'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:DB8:0001:0002:0:0:0:9', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['fe80::2%lo', 'fe80:0:0:0::/64'],
    // NAT64 is not special: it is one network.
    ['64:ff9b::102:304', '64:ff9b:0:0::/64'],
    ['64:ff9b::a00:1', '64:ff9b:0:0::/64'],
    // Node never writes these; they share one subject.
    ['01.2.3.4', 'unknown'],
    [undefined, 'unknown'],
  ])('%s is %s', (remoteAddress, subject) => {
    expect(addressOf('0', remoteAddress)).toBe(subject);
  });
});

describe('X-Forwarded-For', () => {
  const proxy = '10.0.0.1';
  it.each([
    ['no trusted proxy', '0', proxy, '6.6.6.6', proxy],
    ['one hop', '1', proxy, '1.2.3.4', '1.2.3.4'],
    ['one hop, with entries that the client added', '1', proxy, '6.6.6.6, 7.7.7.7, 1.2.3.4', '1.2.3.4'],
    ['two hops', '2', proxy, '6.6.6.6, 1.2.3.4, 10.0.0.2', '1.2.3.4'],
    ['two hops, but only one reported', '2', proxy, '1.2.3.4', '1.2.3.4'],
    ['two hops, nothing reported', '2', proxy, '', proxy],
    ['nine hops', '9', proxy, '1.2.3.4', '1.2.3.4'],
    ['a trusted network', '10.0.0.0/8', proxy, '6.6.6.6, 1.2.3.4', '1.2.3.4'],
    ['trusted proxies in a row', '10.0.0.0/8', proxy, '6.6.6.6, 1.2.3.4, 10.0.0.3, 10.0.0.2', '1.2.3.4'],
    ['only trusted proxies', '10.0.0.0/8', proxy, '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['a connection from elsewhere', '10.0.0.0/8', '8.8.8.8', '1.2.3.4', '8.8.8.8'],
    ['a single trusted address', '10.0.0.1', proxy, '1.2.3.4', '1.2.3.4'],
    ['another trusted address', '10.0.0.2', proxy, '1.2.3.4', proxy],
    ['a trusted network of IPv6', '2001:db8:9::/48', '2001:db8:9::1', '1.2.3.4', '1.2.3.4'],
    ['a trusted address written in IPv6', '10.0.0.1', '::ffff:10.0.0.1', '1.2.3.4', '1.2.3.4'],
    ['several networks', '192.168.0.0/16, 10.0.0.0/8', proxy, '1.2.3.4, 192.168.7.7', '1.2.3.4'],
    ['a client with a port', '1', proxy, '1.2.3.4:5678', '1.2.3.4'],
    ['a client of IPv6', '1', proxy, '2001:db8:1:2::5', '2001:db8:1:2::/64'],
    ['a client of IPv6 with a port', '1', proxy, '[2001:db8:1:2::5]:5678', '2001:db8:1:2::/64'],
    ['a client of IPv4 written in IPv6', '1', proxy, '::ffff:1.2.3.4', '1.2.3.4'],
    ['unknown', '1', proxy, 'unknown', proxy],
    ['no address', '1', proxy, '<x>', proxy],
    ['an obfuscated name', '1', proxy, '_hidden', proxy],
    ['an octal address', '1', proxy, '0177.0.0.1', proxy],
    ['a short address', '1', proxy, '127.1', proxy],
    ['a number', '1', proxy, '2130706433', proxy],
    ['a long text', '1', proxy, '1'.repeat(5_000), proxy],
    ['an empty entry at the end', '1', proxy, '1.2.3.4,', proxy],
    ['no address in the middle', '2', proxy, '1.2.3.4, <x>, 10.0.0.2', '10.0.0.2'],
  ])('%s', (_what, trusted, remoteAddress, value, expected) => {
    expect(addressOf(trusted, remoteAddress, forwarded(value))).toBe(expected);
  });

  it('sent twice is one list', () => {
    const headers = [...forwarded('6.6.6.6'), ...forwarded('1.2.3.4, 10.0.0.2')];
    expect(addressOf('2', '10.0.0.1', headers)).toBe('1.2.3.4');
  });

  it('is the only header that counts', () => {
    const headers = ['Forwarded', 'X-Real-IP', 'CF-Connecting-IP', 'True-Client-IP', 'X-Client-IP'].map(
      (name) => [name, name === 'Forwarded' ? 'for=6.6.6.6' : '6.6.6.6'] as const,
    );
    expect(addressOf('1', '10.0.0.1', headers)).toBe('10.0.0.1');
  });
});

describe('trusted proxies', () => {
  it.each([
    'true',
    '10',
    '-1',
    '1.5',
    '*',
    '0.0.0.0/0',
    '::/0',
    '10.0.0.0/33',
    '10.0.0.0/',
    'proxy',
    '10.0.0.0/8,,',
  ])('cannot be set to %s', (text) => {
    expect(() => parseTrustedProxies(text)).toThrow(/hops/);
  });
});
