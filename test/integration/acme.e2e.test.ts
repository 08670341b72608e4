import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describeWithPrograms } from '../support/describe-with-programs.ts';
import { freePort } from '../support/free-port.ts';
import { startNameServer, type NameServer } from '../support/name-server.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { testCertificate } from '../support/test-certificate.ts';
import { until } from '../support/until.ts';

/** Let's Encrypt's authority for tests asks Caddy, with the file that operators install, whether it has the name. */

const PEBBLE = { path: '/usr/bin/pebble', package: 'pebble' };
const CADDY = { path: '/usr/bin/caddy', package: 'caddy' };
const HOST = 'api.example.com';

interface Place {
  readonly port: number;
  readonly host: string;
  readonly path: string;
  /** The only authority that is trusted. */
  readonly ca: string;
}

const get = ({ port, host, path, ca }: Place): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, ca, servername: host, headers: { host } });
    asked.once('error', reject);
    asked.once('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    asked.end();
  });

describeWithPrograms(PEBBLE, CADDY)('Caddy in front, with the shipped file', () => {
  let folder: string;
  let service: RunningService;
  let names: NameServer;
  const running: ChildProcess[] = [];
  const start = (path: string, ...words: readonly string[]): void => {
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, PEBBLE_VA_NOSLEEP: '1' };
    running.push(spawn(path, words, { stdio: 'ignore', env }));
  };
  const answers = (place: Place): Promise<boolean> =>
    get(place).then(
      ({ status }) => status === 200,
      () => false,
    );

  let root: string;
  let httpsPort: number;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'acme-'));
    [service, names] = await Promise.all([startRunningService(), startNameServer({ [HOST]: '127.0.0.1' })]);
    const [acmePort, managementPort, httpPort] = [await freePort(), await freePort(), await freePort()];
    httpsPort = await freePort();
    const at = (name: string): string => join(folder, name);
    await writeFile(at('cert.pem'), testCertificate.cert);
    await writeFile(at('key.pem'), testCertificate.key);
    const pebble = {
      listenAddress: `127.0.0.1:${acmePort}`,
      managementListenAddress: `127.0.0.1:${managementPort}`,
      certificate: at('cert.pem'),
      privateKey: at('key.pem'),
      httpPort,
      tlsPort: httpsPort,
      ocspResponderURL: '',
      externalAccountBindingRequired: false,
    };
    await writeFile(at('pebble.json'), JSON.stringify({ pebble }));
    start(PEBBLE.path, '-config', at('pebble.json'), '-dnsserver', names.address);
    const ofPebble = { host: 'localhost', ca: testCertificate.cert };
    await until(() => answers({ ...ofPebble, port: acmePort, path: '/dir' }));
    root = (await get({ ...ofPebble, port: managementPort, path: '/roots/0' })).text;
    const shipped = await readFile('deploy/proxies/Caddyfile', 'utf8');
    const test = [
      'admin off',
      'skip_install_trust',
      `http_port ${httpPort}`,
      `https_port ${httpsPort}`,
      `acme_ca https://localhost:${acmePort}/dir`,
      `acme_ca_root ${at('cert.pem')}`,
    ];
    const upstream = new URL(service.baseUrl).host;
    await writeFile(
      at('Caddyfile'),
      `{\n${test.join('\n')}\n}\n${shipped.replace('127.0.0.1:8080', upstream)}`,
    );
    start(CADDY.path, 'run', '--adapter', 'caddyfile', '--config', at('Caddyfile'));
  });
  afterAll(async () => {
    for (const child of running) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    names.close();
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('fetches a certificate of its name by itself, and passes requests on', async () => {
    const ready = { port: httpsPort, host: HOST, path: '/ready', ca: root };
    await until(() => answers(ready), 60_000);
    expect(JSON.parse((await get(ready)).text)).toMatchObject({ status: expect.any(String) });
    expect(names.asked).toContain(HOST);
    await expect(get({ ...ready, ca: testCertificate.cert })).rejects.toThrow(/certificate/);
  });
});
