const hosts = [
  // Notations of loopback.
  '127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001', '0x7f.1', '017700000001', '0177.0.0.1', '127.255.255.254',
  '１２７.０.０.１', '127。0。0。1', '0', '0.0.0.0', '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b::127.0.0.1]', '[2002:7f00:1::]', '[fe80::1]',
  '[fc00::1]', '[fd00:ec2::254]', '[ff02::1]', '[2001:db8::1]', '[100::1]', '[2001::1]', '[::ffff:a00:1]',
  // Networks outside the public internet.
  '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254', '169.254.0.1', '100.64.0.1',
  '192.0.0.1', '192.0.2.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.1.1.1',
  '240.0.0.1', '255.255.255.255', '0.1.2.3', '192.88.99.1',
  // Names of machines and networks.
  'localhost', 'LOCALHOST', 'localhost.', 'sub.localhost', 'router', 'db.internal', 'printer.local', 'nas.lan',
  'metadata.google.internal', 'host.home.arpa', 'service.corp', 'abc.onion',
] as const; // prettier-ignore
const urls = [
  'http://example.com/', 'ftp://example.com/', 'file:///etc/passwd', 'gopher://127.0.0.1/', 'data:text/plain,x',
  'javascript:alert(1)', 'https://user:pass@example.com/', 'https://example.com@127.0.0.1/', 'https://example.com:8443/',
  'https://127.0.0.1#@example.com/', 'https://127.0.0.1\\@example.com/', '//example.com/', 'https:127.0.0.1/', 'https:/127.0.0.1/', '', 'not a url', 'https://',
] as const; // prettier-ignore

/**
 * Addresses that users may enter and to which the service must never connect.
 * @param port of a server on loopback that must not be reached
 */
export const hostileUrls = (port: number): readonly string[] => [
  ...hosts.flatMap((host) => [`https://${host}/`, `https://${host}:${port}/`, `http://${host}:${port}/`]),
  ...urls,
];
