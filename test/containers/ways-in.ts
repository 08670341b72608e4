import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { z } from 'zod';
import { packageDirectory } from '../../app/version.ts';
import { png } from '../support/sample-media.ts';
import { framesOf } from '../support/sse.ts';
import { redeploy, type Deployment, type Settings } from './deployment.ts';
import { run, until, type Docker } from './docker.ts';
import { OUTSIDE_IMAGE } from './images.ts';
import { say, type Run } from './write-and-kill.ts';

/** How clients reach the balancer: the ways of docs/deploy/compose.md. */
interface WayIn {
  readonly name: string;
  readonly settings: Settings;
  /** Where a client on this machine connects. */
  readonly entrance: { readonly container: string; readonly port: number };
  /** The version of HTTP that clients get when they offer the second one. */
  readonly version: '1.1' | '2';
}

const HOST = 'api.example.com';
const AGENT_HOST = 'agent.example.com';
/** 70 s: longer than each proxy waits for something to happen. */
const UPLOAD_BYTES = 7_000_000;
const UPLOAD_BYTES_SECOND = 100_000;
const CURL_SECONDS_MAX = 120;

const atFront = { container: 'front', port: 443 };

const front = (command: string, balancer: string, trusted = 1): Settings => ({
  FRONT_COMMAND: command,
  BALANCER_BIND_OPTIONS: balancer,
  TRUSTED_PROXIES: String(trusted),
});

const ways: readonly WayIn[] = [
  {
    name: 'nginx in front',
    entrance: atFront,
    version: '2',
    settings: front('nginx -c /outside/nginx.conf', '', 2),
  },
  {
    name: 'Caddy in front',
    entrance: atFront,
    version: '2',
    settings: front('caddy run --adapter caddyfile --config /outside/Caddyfile', '', 2),
  },
  {
    name: 'TLS at the balancer',
    // The client in a container comes through what stands for the published port.
    entrance: { container: 'balancer', port: 8080 },
    version: '2',
    settings: front('haproxy -db -f /outside/tcp.cfg', 'ssl crt /certs alpn h2,http/1.1'),
  },
  {
    name: 'the PROXY protocol',
    entrance: atFront,
    version: '1.1',
    settings: front('haproxy -db -f /outside/proxy-protocol.cfg', 'accept-proxy'),
  },
];

/** The files for operators, with the addresses and certificates of this network. */
const writeProxies = async (folder: string): Promise<void> => {
  const read = (name: string): Promise<string> =>
    readFile(join(packageDirectory, 'deploy/proxies', name), 'utf8');
  const inside = (text: string): string => text.replaceAll('127.0.0.1:8080', 'balancer:8080');
  const certificate = [`/outside/${HOST}.crt`, `/outside/${HOST}.key`] as const;
  const nginx = inside(await read('nginx.conf'))
    .replace(/(ssl_certificate) .*;/, `$1 ${certificate[0]};`)
    .replace(/(ssl_certificate_key) .*;/, `$1 ${certificate[1]};`);
  await writeFile(join(folder, 'nginx.conf'), `daemon off; events {} http {\n${nginx}}\n`);
  const caddy = inside(await read('Caddyfile')).replace('{', `{\n\ttls ${certificate.join(' ')}`);
  await writeFile(join(folder, 'Caddyfile'), caddy);
  for (const name of ['agent.cfg', 'tcp.cfg', 'proxy-protocol.cfg']) {
    await cp(join(packageDirectory, 'test/containers/outside', name), join(folder, name));
  }
};

/** An authority for both hosts, and the certificates that it has signed. */
const makeCertificates = async (folder: string): Promise<void> => {
  const at = (name: string): string => join(folder, name);
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const authority = ['-keyout', at('authority.key'), '-out', at('authority.pem')];
  await run('openssl', [...request, '-subj', '/CN=authority of a test', ...authority]);
  for (const host of [HOST, AGENT_HOST]) {
    const signed = ['-CA', at('authority.pem'), '-CAkey', at('authority.key'), '-subj', `/CN=${host}`];
    const extensions = [`subjectAltName=DNS:${host}`, 'basicConstraints=critical,CA:FALSE'];
    const files = ['-keyout', at(`${host}.key`), '-out', at(`${host}.crt`)];
    await run('openssl', [
      ...request,
      ...signed,
      ...extensions.flatMap((text) => ['-addext', text]),
      ...files,
    ]);
    const both = await Promise.all([`${host}.crt`, `${host}.key`].map((name) => readFile(at(name), 'utf8')));
    await writeFile(at(`${host}.pem`), both.join(''));
  }
};

const AGENT_TOKEN = 'sandbox-agent-token';

/** A client on this machine: its address is another than that of the client in a container. */
interface Client {
  readonly run: Run;
  readonly deployment: Deployment;
  readonly curl: (...words: readonly string[]) => Promise<string>;
  readonly curlWords: readonly string[];
}

const clientOf = async (
  current: Run,
  deployment: Deployment,
  folder: string,
  way: WayIn,
): Promise<Client> => {
  const { container, port } = way.entrance;
  const address = await deployment.addressOf(`buyer-exchange-${container}-1`, 'edge');
  const tls = ['--http2', '--cacert', join(folder, 'authority.pem')];
  const to = ['--connect-to', `${HOST}:443:${address}:${port}`];
  const curlWords = ['--silent', '--show-error', '--max-time', String(CURL_SECONDS_MAX), ...tls, ...to];
  return { run: current, deployment, curlWords, curl: (...words) => run('curl', [...curlWords, ...words]) };
};

const API = `https://${HOST}/api/v2/buyer`;

/** Requests without a key are counted by address. That of the other client, and what this one claims, must not count. */
const countsAddresses = async (client: Client): Promise<void> => {
  const remaining = async (...words: readonly string[]): Promise<readonly [number, number]> => {
    const format = '%header{ratelimit-remaining} %header{ratelimit-reset}';
    const printed = await client.curl(
      ...words,
      '--output',
      '/dev/null',
      '--write-out',
      format,
      `${API}/advertisers`,
    );
    const [left = NaN, resetSeconds = NaN] = printed.split(' ').map(Number);
    return [left, resetSeconds];
  };
  const [before, resetBefore] = await remaining();
  const script = `fetch('${API}/advertisers').then(({ status }) => process.exit(status === 401 ? 0 : 1))`;
  await client.deployment.compose('run', '--rm', '--no-TTY', 'client', 'node', '-e', script);
  const [after, resetAfter] = await remaining('--header', 'X-Forwarded-For: 192.0.2.1');
  // A new window has begun.
  if (resetAfter > resetBefore) return countsAddresses(client);
  if (before - after !== 1)
    throw new Error(`not the client's address: ${before}, then ${after} requests remain`);
};

const post = async <T>(
  { curl, run: { account } }: Client,
  path: string,
  body: object,
  schema: z.ZodType<T>,
): Promise<T> => {
  const headers = [`Authorization: Bearer ${account.apiKey}`, 'Content-Type: application/json'];
  const words = headers.flatMap((header) => ['--header', header]);
  const text = await curl(...words, '--data', JSON.stringify(body), `${API}${path}`);
  return z.object({ data: schema }).parse(JSON.parse(text)).data;
};

/** @returns the advertiser that the stream reported while it was open */
const streams = async (client: Client): Promise<number> => {
  const authorization = `Authorization: Bearer ${client.run.account.apiKey}`;
  const stream = spawn('curl', [
    ...client.curlWords,
    '--no-buffer',
    '--header',
    authorization,
    `${API}/realtime`,
  ]);
  let text = '';
  stream.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const has = (event: string): Promise<void> =>
    until(`the stream has ${event}`, async () => framesOf(text).some((frame) => frame.event === event));
  try {
    await has('ready');
    const { id } = await post(client, '/advertisers', { name: 'Streamed' }, z.object({ id: z.number() }));
    await has('advertiser.created');
    return id;
  } finally {
    stream.kill();
  }
};

const uploadsSlowly = async (client: Client, advertiserId: number): Promise<void> => {
  const file = join(client.run.settings['OUTSIDE'] ?? '', 'slow.png');
  const bytes = png(300, 200, UPLOAD_BYTES);
  await writeFile(file, bytes);
  const body = { name: 'slow.png', mimeType: 'image/png', bytes: bytes.length };
  const Reservation = z.object({ uploadUrl: z.string() });
  const { uploadUrl } = await post(client, `/advertisers/${advertiserId}/assets/uploads`, body, Reservation);
  const speed = ['--limit-rate', String(UPLOAD_BYTES_SECOND), '--upload-file', file];
  const answer = await client.curl(...speed, '--header', 'Content-Type: application/octet-stream', uploadUrl);
  z.object({ data: z.object({ bytes: z.literal(bytes.length) }) }).parse(JSON.parse(answer));
};

const showsConsole = async ({ curl }: Client, { version }: WayIn): Promise<void> => {
  const printed = await curl(
    '--write-out',
    '\n%{http_version} %{response_code} %{content_type}',
    `https://${HOST}/console`,
  );
  if (!printed.endsWith(`\n${version} 200 text/html; charset=utf-8`)) throw new Error(printed);
  const [, script = 'no script'] = /<script[^>]* src="([^"]+)"/.exec(printed) ?? [];
  const status = await curl(
    '--output',
    '/dev/null',
    '--write-out',
    '%{response_code}',
    `https://${HOST}${script}`,
  );
  if (status !== '200') throw new Error(`${script}: ${status}`);
};

const tour = async ({ deployment, run: { account } }: Client, sellerId: number): Promise<void> => {
  const words = ['--url', `https://${HOST}`, '--key', account.apiKey, '--agent', `https://${AGENT_HOST}`];
  const tourWords = ['node', 'dist/bundle/tour.js', ...words, '--seller', String(sellerId)];
  const printed = await deployment.compose('run', '--rm', '--no-TTY', 'client', ...tourWords);
  if (!printed.includes('Summary: 14 of 14 endpoints') || !printed.includes('12400 impressions'))
    throw new Error(printed);
};

/** What an operator does once for each seller. @returns its id */
const connectSeller = async ({ operate }: Deployment): Promise<number> => {
  const added = await operate('sellers', 'add', '--name', 'Sandbox News', '--json');
  const { sellerId } = z.object({ sellerId: z.number() }).parse(JSON.parse(added));
  const agent = ['--agent-url', `https://${AGENT_HOST}/mcp`, '--token-file', '/outside/seller-token'];
  await operate('sellers', 'connect', String(sellerId), ...agent);
  return sellerId;
};

/** The files of `outside/compose.yml`. @returns its settings */
export const prepareOutside = async (folder: string, settings: Settings): Promise<Settings> => {
  const outside = join(folder, 'outside');
  await mkdir(outside, { recursive: true });
  await makeCertificates(outside);
  await writeProxies(outside);
  await writeFile(join(outside, 'seller-token'), AGENT_TOKEN);
  await cp(join(outside, `${HOST}.pem`), join(settings['CERTIFICATES'] ?? '', `${HOST}.pem`));
  return {
    COMPOSE_FILE: 'docker-compose.yml:test/containers/outside/compose.yml',
    OUTSIDE: outside,
    OUTSIDE_IMAGE,
    // So that the tour sees a report.
    DELIVERY_REPORT_SECONDS: '5',
  };
};

/** Clients reach the installation in each way that the page names. @throws Error */
export const tryWaysIn = async (docker: Docker, current: Run): Promise<void> => {
  const { settings } = current;
  let sellerId: number | undefined;
  for (const way of ways) {
    const started = { ...settings, ...way.settings, COMPOSE_PROFILES: 'ways-in' };
    const deployment = await redeploy(docker, started);
    const client = await clientOf(current, deployment, settings['OUTSIDE'] ?? '', way);
    await until(`${way.name}: ready`, async () =>
      client.curl('--fail', `https://${HOST}/ready`).then(
        () => true,
        () => false,
      ),
    );
    sellerId ??= await connectSeller(deployment);
    await showsConsole(client, way);
    await countsAddresses(client);
    const advertiserId = await streams(client);
    await Promise.all([uploadsSlowly(client, advertiserId), tour(client, sellerId)]);
    say(`${way.name}: console, client addresses, stream, slow upload and the tour`);
  }
  await redeploy(docker, settings);
};
