import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lookup } from 'node:dns/promises';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { LookupAddress } from 'node:dns';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOutboundFetch } from '../../shared/outbound/outbound-fetch.ts';
import { createNameResolver, type ResolveName } from '../../shared/outbound/resolve-name.ts';
import { startNameServer, type NameServer } from '../support/name-server.ts';

let server: NameServer;
let folder: string;
beforeAll(async () => {
  server = await startNameServer({ 'known.example.com': '93.184.215.14', 'inside.example.com': '10.0.0.5' });
  folder = await mkdtemp(join(tmpdir(), 'buyer-exchange-hosts-'));
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

const found = (resolve: ResolveName, name: string): Promise<readonly LookupAddress[]> =>
  new Promise((done, fail) => {
    resolve(name, (error, addresses = []) => (error === null ? done(addresses) : fail(error)));
  });

describe('names of hosts that are not ours', () => {
  it('given many names without an answer, then neither other names nor the system wait for them', async () => {
    const resolve = createNameResolver({ servers: [server.address], withinMs: 2_500 });
    const startMs = performance.now();
    const msUntil = (work: Promise<unknown>): Promise<number> => work.then(() => performance.now() - startMs);
    const silent = Array.from({ length: 64 }, (_, n) => found(resolve, `silent-${n}.example.com`));
    const failures = silent.map((one) =>
      one.then(
        () => 'answered',
        () => 'failed',
      ),
    );
    // The system's look-up, which connections to Postgres use, needs a thread of libuv.
    const system = msUntil(lookup('localhost'));
    const other = msUntil(found(resolve, 'known.example.com'));
    expect(await system).toBeLessThan(1_000);
    expect(await other).toBeLessThan(1_000);
    expect(new Set(await Promise.all(failures))).toEqual(new Set(['failed']));
    expect(performance.now() - startMs).toBeLessThan(6_000);
  }, 20_000);

  it('given as many running look-ups as are allowed, then a further one waits, and fails in time', async () => {
    const resolve = createNameResolver({ servers: [server.address], withinMs: 300, atOnceMax: 1 });
    const first = found(resolve, 'silent.example.com');
    const before = server.asked.length;
    await expect(found(resolve, 'known.example.com')).rejects.toThrow('too many names');
    expect(server.asked.slice(before)).not.toContain('known.example.com');
    await expect(first).rejects.toThrow();
  });

  it('given the same name at the same time, then it is asked for once', async () => {
    const resolve = createNameResolver({ servers: [server.address] });
    const before = server.asked.length;
    const all = await Promise.all(Array.from({ length: 20 }, () => found(resolve, 'Known.example.com')));
    expect(new Set(all.map(([address]) => address?.address))).toEqual(new Set(['93.184.215.14']));
    // One question for each family of addresses.
    expect(server.asked.slice(before)).toEqual(['known.example.com', 'known.example.com']);
  });

  it('/etc/hosts has precedence, and names localhost if the file does not', async () => {
    const hostsFile = join(folder, 'hosts');
    await writeFile(
      hostsFile,
      '# comment\n93.184.215.99  known.example.com KNOWN2.example.com # more\n::1 loop6\n',
    );
    const resolve = createNameResolver({ servers: [server.address], hostsFile });
    expect(await found(resolve, 'known2.example.com')).toEqual([{ address: '93.184.215.99', family: 4 }]);
    expect(await found(resolve, 'known.example.com.')).toEqual([{ address: '93.184.215.99', family: 4 }]);
    expect(await found(resolve, 'loop6')).toEqual([{ address: '::1', family: 6 }]);
    expect(await found(resolve, 'localhost')).toEqual([{ address: '127.0.0.1', family: 4 }]);
  });

  it('a name with a private address, from a server or from /etc/hosts, is not connected to', async () => {
    const hostsFile = join(folder, 'private');
    await writeFile(hostsFile, '127.0.0.1 loopback.example.com\n');
    const resolve = createNameResolver({ servers: [server.address], hostsFile });
    const fetch = createOutboundFetch({ allowLoopback: false, timeoutMs: 2_000, bytesMax: 1_000, resolve });
    for (const name of ['inside.example.com', 'loopback.example.com']) {
      await expect(fetch(`https://${name}/`)).rejects.toMatchObject({
        failure: 'unreachable',
        cause: expect.objectContaining({ message: 'a private address' }),
      });
    }
  });
});
