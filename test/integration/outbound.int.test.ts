import type { LookupAddress } from 'node:dns';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import type { ResolveName } from '../../shared/outbound/resolve-name.ts';
import { OutboundError } from '../../shared/outbound/outbound-error.ts';
import {
  createOutboundFetch,
  createOutboundLines,
  type OutboundFetch,
  type OutboundFetchOptions,
} from '../../shared/outbound/outbound-fetch.ts';
import { urlProblem } from '../../shared/outbound/outbound-url.ts';
import { hostileUrls } from '../support/hostile-urls.ts';

let canary: Server;
let port = 0;
let connections = 0;
beforeAll(async () => {
  canary = createServer((_request, response) => response.end('secret'));
  canary.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
  ({ port } = canary.address() as AddressInfo);
});
afterAll(() => {
  canary.close();
  canary.closeAllConnections();
});

const limits = { timeoutMs: 3_000, bytesMax: 10_000 };

/** Names with forbidden addresses. The rebinding ones change their address between two look-ups. */
const asked = new Map<string, number>();
const addressesOf: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'loopback.example.com': [['127.0.0.1']],
  'loopback6.example.com': [['::1']],
  'mapped.example.com': [['::ffff:127.0.0.1']],
  'metadata.example.com': [['169.254.169.254']],
  'private.example.com': [['10.0.0.5']],
  'mixed.example.com': [['93.184.215.14', '127.0.0.1']],
  'rebinding.example.com': [['93.184.215.14'], ['127.0.0.1']],
  'rebinding6.example.com': [['2606:2800:21f:cb07:6820:80da:af6b:8b2c'], ['::1']],
  'nowhere.example.com': [[]],
};
const resolve: ResolveName = (name, onAnswer) => {
  const lookUps = addressesOf[name] ?? [];
  const count = asked.get(name) ?? 0;
  asked.set(name, count + 1);
  const found = lookUps[Math.min(count, lookUps.length - 1)] ?? [];
  const addresses: LookupAddress[] = found.map((address) => ({
    address,
    family: address.includes(':') ? 6 : 4,
  }));
  // Like Node: no addresses if there is an error.
  if (addresses.length === 0) onAnswer(new Error('ENOTFOUND'));
  else onAnswer(null, addresses);
};

const fetches: readonly [string, (options: OutboundFetchOptions) => OutboundFetch][] = [
  ['a request', createOutboundFetch],
  ['a request of an outbound line', (options) => createOutboundLines(options)().fetch],
];

describe.each(fetches)('an address that is not on the public internet, for %s', (_what, fetchOf) => {
  it(`is refused in each of ${hostileUrls(0).length} forms, without a connection`, async () => {
    const fetch = fetchOf({ allowLoopback: false, ...limits, resolve });
    let refused = 0;
    for (const form of hostileUrls(port)) {
      expect([form, urlProblem(form, { allowLoopback: false })]).toEqual([form, expect.any(String)]);
      const url = URL.canParse(form) ? new URL(form) : undefined;
      if (url === undefined) continue;
      await expect(fetch(url)).rejects.toThrow(OutboundError);
      refused += 1;
    }
    console.log(`${refused} forms refused, ${connections} connections to the canary`);
    expect(refused).toBeGreaterThan(60);
    expect(connections).toBe(0);
  });

  it.each(Object.keys(addressesOf))(
    'is not reached under the name %s, also with repeated look-ups',
    async (name) => {
      const fetch = fetchOf({ allowLoopback: false, timeoutMs: 500, bytesMax: 1_000, resolve });
      for (let n = 0; n < 3; n++) {
        await expect(fetch(`https://${name}/`)).rejects.toThrow(
          expect.objectContaining({
            message: 'The address could not be reached, or did not answer in time.',
          }),
        );
      }
      expect(connections).toBe(0);
    },
  );
});

describe('a public address', () => {
  it.each([
    'https://example.com/',
    'https://a.example.co.uk/x?y',
    'https://93.184.215.14/',
    'https://[2606:2800::1]/',
  ])('%s is accepted', (url) => expect(urlProblem(url, { allowLoopback: false })).toBeUndefined());
});

describe('the development setting', () => {
  it('allows loopback over http and https at any port, and nothing else', () => {
    const policy = { allowLoopback: true };
    for (const url of ['http://127.0.0.1:3000/', 'http://localhost:1/', 'https://[::1]:8443/x']) {
      expect([url, urlProblem(url, policy)]).toEqual([url, undefined]);
    }
    for (const url of [
      'http://10.0.0.1/',
      'http://169.254.169.254/',
      'http://example.com/',
      'https://db.internal/',
    ]) {
      expect([url, urlProblem(url, policy)]).toEqual([url, expect.any(String)]);
    }
  });

  it('fetches from loopback', async () => {
    const fetch = createOutboundFetch({ allowLoopback: true, ...limits });
    const before = connections;
    expect(await (await fetch(`http://localhost:${port}/`)).text()).toBe('secret');
    expect(connections).toBe(before + 1);
  });

  it('treats an invalid status and a protocol switch as a bad answer', async () => {
    const odd = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (sent) => {
        const isUpgrade = sent.toString().startsWith('GET /upgrade');
        socket.write(
          isUpgrade
            ? 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'
            : 'HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n',
        );
      });
    });
    await new Promise<void>((done) => odd.listen(0, '127.0.0.1', done));
    const at = `http://127.0.0.1:${(odd.address() as AddressInfo).port}`;
    const fetch = createOutboundFetch({ allowLoopback: true, ...limits });
    await expect(fetch(`${at}/status`)).rejects.toMatchObject({ failure: 'bad-answer' });
    await expect(fetch(`${at}/upgrade`)).rejects.toMatchObject({ failure: 'bad-answer' });
    odd.close();
  });

  it('does not allow loopback for other names', async () => {
    const fetch = createOutboundFetch({ allowLoopback: true, ...limits, resolve });
    const before = connections;
    await expect(fetch('https://loopback.example.com/')).rejects.toThrow(OutboundError);
    expect(connections).toBe(before);
  });
});

describe('an outbound line', () => {
  const openLine = createOutboundLines({ allowLoopback: true, ...limits });
  const secret = async (fetch: OutboundFetch): Promise<string> =>
    (await fetch(`http://localhost:${port}/`)).text();

  it('shares one connection between its requests, and none with other lines', async () => {
    const [line, other] = [openLine(), openLine()];
    const before = connections;
    for (let n = 0; n < 5; n++) expect(await secret(line.fetch)).toBe('secret');
    expect(connections).toBe(before + 1);
    expect(await secret(other.fetch)).toBe('secret');
    expect(connections).toBe(before + 2);
    line.close();
    other.close();
  });

  it('checks the address of each connection, also if an earlier one of the same name was allowed', async () => {
    const addresses = ['127.0.0.1', '10.0.0.5'];
    const rebinding: ResolveName = (_name, onAnswer) =>
      onAnswer(null, [{ address: addresses.shift() ?? '10.0.0.5', family: 4 }]);
    const line = createOutboundLines({ allowLoopback: true, ...limits, resolve: rebinding })();
    const before = connections;
    const alone = { headers: { connection: 'close' } };
    expect(await (await line.fetch(`http://localhost:${port}/`, alone)).text()).toBe('secret');
    await expect(secret(line.fetch)).rejects.toMatchObject({ failure: 'unreachable' });
    expect(connections).toBe(before + 1);
    line.close();
  });

  it('aborts its running requests when it is closed', async () => {
    const mute = createServer(() => undefined);
    await new Promise<void>((done) => mute.listen(0, '127.0.0.1', done));
    const line = openLine();
    const answer = line.fetch(`http://127.0.0.1:${(mute.address() as AddressInfo).port}/`);
    const closed = new Promise((done) => mute.once('connection', (socket) => socket.once('close', done)));
    mute.once('request', () => line.close());
    await expect(answer).rejects.toMatchObject({ failure: 'unreachable' });
    await closed;
    mute.close();
  });

  it('opens no connection after it was closed, neither for a running nor for a later request', async () => {
    let [requests, opened] = [0, 0];
    const mute = createServer((_request, response) => {
      requests += 1;
      if (requests === 1) response.end('done');
      else line.close();
    });
    mute.on('connection', () => (opened += 1));
    await new Promise<void>((done) => mute.listen(0, '127.0.0.1', done));
    const at = `http://127.0.0.1:${(mute.address() as AddressInfo).port}/`;
    const line = openLine();
    expect(await (await line.fetch(at)).text()).toBe('done');
    await expect(line.fetch(at)).rejects.toMatchObject({ failure: 'unreachable' });
    await expect(line.fetch(at)).rejects.toMatchObject({ failure: 'unreachable' });
    await sleep(50);
    expect({ requests, opened }).toEqual({ requests: 2, opened: 1 });
    mute.close();
  });

  it('repeats a request once on a new connection if its server closed the old one, and otherwise never', async () => {
    let requests = 0;
    const rude = createServer((_request, response) => {
      requests += 1;
      // The third request, on a used connection, and its repeat on a new one receive no answer.
      if (requests >= 3) response.socket?.destroy();
      else response.end('done');
    });
    await new Promise<void>((done) => rude.listen(0, '127.0.0.1', done));
    const at = `http://127.0.0.1:${(rude.address() as AddressInfo).port}/`;
    const line = openLine();
    for (let n = 0; n < 2; n++) expect(await (await line.fetch(at)).text()).toBe('done');
    await expect(line.fetch(at)).rejects.toMatchObject({ failure: 'unreachable' });
    expect(requests).toBe(4);
    await expect(createOutboundFetch({ allowLoopback: true, ...limits })(at)).rejects.toThrow(OutboundError);
    expect(requests).toBe(5);
    line.close();
    rude.close();
  });
});
