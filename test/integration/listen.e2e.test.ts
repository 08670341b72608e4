import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { packageDirectory } from '../../app/version.ts';
import { createLog } from '../../app/log.ts';
import { streamFrames } from '../../cli/listen/stream-frames.ts';
import { eventTexts, notificationFrame } from '../../query/realtime/frames.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { startTcpProxy } from '../faults/kit/tcp-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { exchangeApart, startExchange, type Program } from '../support/program.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { openStream } from '../support/sse.ts';
import { until } from '../support/until.ts';
import {
  startWebhookReceiver,
  type ReceivedWebhook,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts';

const texts = eventTexts(() => true);

/** `exchange listen` as a separate program, with a receiver on this machine. */

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService({ OUTBOUND_ALLOW_LOOPBACK: 'true' }, createLog('silent'), {
    realtime: { heartbeat: 500 },
  });
});
afterAll(() => service.stop());

const releases: (() => unknown)[] = [];
afterEach(async () => {
  for (const release of releases.splice(0).toReversed()) await release();
});

const receive = async (...[answer]: Parameters<typeof startWebhookReceiver>): Promise<WebhookReceiver> => {
  const receiver = await startWebhookReceiver(answer);
  releases.push(() => receiver.stop());
  return receiver;
};

/** Another server than the service. */
const serve = async (
  onRequest: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<string> => {
  const server = createServer((request, response) => void onRequest(request, response)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  releases.push(() => server.close() && server.closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

interface ListenOptions {
  readonly url?: string;
  readonly to: string;
  readonly options?: readonly string[];
}

const listen = async (
  { apiKey }: Pick<TestAccount, 'apiKey'>,
  { url = service.baseUrl, to, options = [] }: ListenOptions,
): Promise<Program> => {
  const words = ['listen', '--forward-to', to, '--url', url, ...options];
  const program = startExchange(words, { EXCHANGE_API_KEY: apiKey });
  releases.push(() => program.end('SIGKILL'));
  await program.until(/Connected\./);
  return program;
};

let names = 0;
const createAdvertiser = async ({ api }: TestAccount): Promise<number> => {
  const { status, body } = await api.post<{ id: number }>('/advertisers', { name: `Heard ${(names += 1)}` });
  expect(status).toBe(201);
  return body.data.id;
};

interface Body {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly resourceId: string };
}
const bodyOf = ({ body }: ReceivedWebhook): Body => JSON.parse(body.toString()) as Body;
const headersOf = ({ headers }: ReceivedWebhook) => headers as Readonly<Record<string, string>>;
const jsonLines = (program: Program) =>
  program
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

describe('what the program receives', () => {
  it('is verified with the printed secret, and is what a webhook sends', async () => {
    const account = await service.openAccount();
    const [local, hook] = [await receive(), await receive()];
    const program = await listen(account, { to: local.url });
    const [, secret = ''] = await program.until(/Signing secret: (whsec_\S+)\n/);
    const subscribed = await account.api.post('/webhook-subscriptions', {
      url: hook.url,
      eventTypes: ['*'],
      secret,
    });
    expect(subscribed.status).toBe(201);
    const id = await createAdvertiser(account);
    await until(async () => local.received.length === 1 && hook.received.length === 1);
    const [[forwarded], [real]] = [local.received, hook.received];
    if (forwarded === undefined || real === undefined) throw new Error('nothing was received');

    expect(new Webhook(secret).verify(forwarded.body, headersOf(forwarded))).toEqual(bodyOf(forwarded));
    expect(() => new Webhook(`whsec_${'A'.repeat(40)}`).verify(forwarded.body, headersOf(forwarded))).toThrow(
      'No matching signature found',
    );
    expect(forwarded.body.equals(real.body)).toBe(true);
    const signed = ['content-type', 'user-agent', 'webhook-id', 'x-webhook-signature'];
    for (const name of signed) expect([name, forwarded.headers[name]]).toEqual([name, real.headers[name]]);
    expect(forwarded.headers['webhook-id']).toBe(bodyOf(real).id);
    const trace = (one: ReceivedWebhook) => one.headers['traceparent']?.slice(0, 36);
    expect(trace(forwarded)).toMatch(/^00-[\da-f]{32}-$/);
    expect(trace(forwarded)).toBe(trace(real));
    expect(forwarded.headers.authorization).toBeUndefined();

    await program.until(
      new RegExp(`^advertiser\\.created ADVERTISER ${id} revision 1 -> 204, \\d+ ms$`, 'm'),
    );
    expect(program.output()).not.toContain(account.apiKey);
  }, 60_000);

  it('is signed with a given secret, and carries it if asked to', async () => {
    const account = await service.openAccount();
    const receiver = await receive();
    const secret = 'sixteen-or-more-characters';
    await listen(account, { to: receiver.url, options: ['--secret', secret, '--bearer'] });
    await createAdvertiser(account);
    await until(async () => receiver.received.length === 1);
    const [one] = receiver.received;
    if (one === undefined) throw new Error('nothing was received');
    expect(new Webhook(secret, { format: 'raw' }).verify(one.body, headersOf(one))).toEqual(bodyOf(one));
    expect(one.headers.authorization).toBe(`Bearer ${secret}`);
  }, 60_000);

  it('is only the chosen topics, and only the chosen advertiser', async () => {
    const account = await service.openAccount();
    const [byTopic, byAdvertiser] = [await receive(), await receive()];
    const [chosen, other] = [await createAdvertiser(account), await createAdvertiser(account)];
    await listen(account, { to: byTopic.url, options: ['--topics', 'advertiser.archived,campaign.*'] });
    await listen(account, { to: byAdvertiser.url, options: ['--advertiser', String(chosen)] });
    for (const advertiserId of [other, chosen])
      await account.api.post('/campaigns', { advertiserId, name: 'Spring' });
    await account.api.delete(`/advertisers/${await createAdvertiser(account)}`);
    await until(async () => byTopic.received.length === 3 && byAdvertiser.received.length === 2);
    await sleep(200);
    const types = ({ received }: WebhookReceiver) => received.map((one) => bodyOf(one).type);
    expect(types(byTopic)).toEqual(['campaign.created', 'campaign.created', 'advertiser.archived']);
    // A campaign locks the currency of its advertiser.
    expect(types(byAdvertiser)).toEqual(['advertiser.updated', 'campaign.created']);
  }, 60_000);
});

it('breaks of the stream lose and double nothing, and keep the order', async () => {
  const account = await service.openAccount();
  const receiver = await receive();
  const proxy = await startTcpProxy({ host: '127.0.0.1', port: service.port });
  releases.push(() => proxy.close());
  const program = await listen(account, { url: `http://127.0.0.1:${proxy.port}`, to: receiver.url });
  const writes = async (): Promise<void> => {
    for (let n = 0; n < 100; n += 1) await createAdvertiser(account);
  };
  let areWritten = false;
  const writing = writes().then(() => (areWritten = true));
  let breaks = 0;
  while (!areWritten || breaks < 3) {
    const before = receiver.received.length;
    if (!areWritten) await until(async () => receiver.received.length > before || areWritten);
    proxy.down();
    await sleep(50);
    proxy.up();
    breaks += 1;
    await until(async () => program.output().split('Connected.').length === breaks + 2);
  }
  await writing;
  const { body } = await account.api.get<{ events: { id: string }[] }>(
    '/events?types=advertiser.created&take=200',
  );
  const feed = body.data.events.map(({ id }) => id);
  expect(feed.length).toBe(100);
  await until(async () => receiver.received.length >= feed.length);
  await sleep(200);
  expect(receiver.received.map((one) => bodyOf(one).id)).toEqual(feed);
  expect(program.output()).toMatch(/^The stream broke: .+\. Connecting again in [1-3]\.\d s\.$/m);
}, 120_000);

describe('a program that does not answer 2xx', () => {
  it('receives the event again, under the same id, and then the next ones', async () => {
    const account = await service.openAccount();
    const statuses = [500, 302, 204, 400, 400, 400, 400, 204];
    const receiver = await receive((_webhook, response) => {
      response.writeHead(statuses.shift() ?? 204, { location: '/elsewhere' }).end();
    });
    const program = await listen(account, { to: receiver.url, options: ['--json'] });
    for (let n = 0; n < 3; n += 1) await createAdvertiser(account);
    await until(async () => receiver.received.length === 8);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    const [first, , , second, , , , third] = ids;
    expect(ids).toEqual([first, first, first, second, second, second, second, third]);
    await until(async () => jsonLines(program).length === 4);
    const [start, ...events] = jsonLines(program);
    expect(start).toEqual({
      listening: service.baseUrl,
      forwardTo: receiver.url,
      secret: expect.stringMatching(/^whsec_/),
    });
    expect(events).toEqual(
      [
        { id: first, status: 204, attempts: 3 },
        { id: second, status: 400, attempts: 4 },
        { id: third, status: 204, attempts: 1 },
      ].map((one) => ({
        ...one,
        type: 'advertiser.created',
        resourceType: 'ADVERTISER',
        resourceId: expect.any(String),
        revision: 1,
        durationMs: expect.any(Number),
      })),
    );
  }, 60_000);

  it('and has gone is not asked again; one that is not there is named', async () => {
    const account = await service.openAccount();
    const gone = await receive((_webhook, response) => response.writeHead(410).end());
    const nowhere = `127.0.0.1:${await freePort()}`;
    const hears = await listen(account, { to: gone.url });
    const fails = await listen(account, { to: `http://${nowhere}` });
    await createAdvertiser(account);
    await hears.until(/ revision 1 -> 410, \d+ ms, left out$/m);
    await fails.until(
      new RegExp(` revision 1 -> connect ECONNREFUSED ${nowhere}, \\d+ ms, attempt 4, left out$`, 'm'),
    );
    expect(gone.received.length).toBe(1);
  }, 60_000);
});

describe('is refused', () => {
  const refused = (key: string, ...options: readonly string[]) =>
    exchangeApart(['listen', '--forward-to', 'http://127.0.0.1:1', '--url', service.baseUrl, ...options], {
      EXCHANGE_API_KEY: key,
    });

  it.each([
    [['--topics', 'creative.exploded'], /^topics must be a kind of event/],
    [['--advertiser', '1x'], /^error: option '--advertiser <ID>' argument '1x' is invalid/],
    [['--secret', 'short'], /^--secret must be 16 to 256 visible ASCII characters/],
    [['--secret', 'whsec_c2hvcnQ='], /; --secret must have at least 16 bytes in base64 after whsec_/],
    [['--url', 'exchange.example.com'], /^--url must be an http or https URL/],
    [['--forward-to', 'ftp://127.0.0.1'], /^--forward-to must be an http or https URL/],
    [['--forward-to', 'http://a:b@127.0.0.1'], /^--forward-to must be an http or https URL/],
    [['--key', 'two words'], /^the API key has a character that no key has/],
  ])('with wrong arguments: %j', async (options, sentence) => {
    const { apiKey } = await service.openAccount();
    const { status, stderr } = await refused(apiKey, ...options);
    expect([status, stderr]).toEqual([2, expect.stringMatching(sentence)]);
    expect(stderr).toMatch(/\nUsage: exchange listen \[options\]\n/);
  });

  it('without a key', async () => {
    const { status, stderr } = await refused('');
    expect([status, stderr]).toEqual([2, expect.stringMatching(/^set EXCHANGE_API_KEY to an API key, or /)]);
  });

  it('with an unknown key, or one that may not read', async () => {
    const { api } = await service.openAccount();
    const unknown = await refused('bx_unknown');
    expect([unknown.status, unknown.stderr]).toEqual([
      1,
      expect.stringMatching(/^http:\S+ does not accept the API key\. .+\n$/),
    ]);
    const { body } = await api.post<{ key: string }>('/api-keys', {
      name: 'Writer',
      scopes: ['exchange:write'],
    });
    const writer = await refused(body.data.key);
    expect([writer.status, writer.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^http:\S+ does not allow the stream\. The credential lacks the scope exchange:read\./,
      ),
    ]);
  });

  it('by another server, and does not follow a redirect with the key', async () => {
    let others = 0;
    const other = await serve((_request, response) => void response.end(String((others += 1))));
    const moved = await serve((_request, response) => {
      response.writeHead(308, { location: `${other}/` }).end();
    });
    const page = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>');
    });
    for (const [url, sentence] of [
      [moved, /^http:\S+ has no stream \(status 308\): is --url the address of the service\?\n$/],
      [page, /^http:\S+ answered without a stream: is --url the address of the service\?\n$/],
      [
        `http://127.0.0.1:${await freePort()}`,
        /^Cannot reach http:\/\/127\.0\.0\.1:\d+: connect ECONNREFUSED/,
      ],
    ] as const) {
      const { status, stderr } = await refused('bx_key', '--url', url);
      expect([status, stderr]).toEqual([1, expect.stringMatching(sentence)]);
    }
    expect(others).toBe(0);
  });
});

describe('while it runs', () => {
  it('a revoked key ends it with the reason', async () => {
    const { api } = await service.openAccount();
    const receiver = await receive();
    const { body } = await api.post<{ id: string; key: string }>('/api-keys', {
      name: 'Laptop',
      scopes: ['exchange:read'],
    });
    const program = await listen({ apiKey: body.data.key }, { to: receiver.url });
    await api.delete(`/api-keys/${body.data.id}`);
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(
      /^The stream broke: the service ended the stream \(credential\)\. Connecting .+\nhttp:\S+ does not accept the API key\./m,
    );
  }, 30_000);

  it('the eleventh stream waits as long as the service asks, and then opens', async () => {
    const account = await service.openAccount();
    const headers = { Authorization: `Bearer ${account.apiKey}` };
    const streams = await Promise.all(Array.from({ length: 10 }, () => openStream(service.baseUrl, headers)));
    releases.push(() => Promise.all(streams.map((stream) => stream.close())));
    const receiver = await receive();
    const program = startExchange(['listen', '--forward-to', receiver.url, '--url', service.baseUrl], {
      EXCHANGE_API_KEY: account.apiKey,
    });
    releases.push(() => program.end('SIGKILL'));
    await program.until(/^The stream broke: the service answered 429: .+ Connecting again in 5\.0 s\.$/m);
    await streams[0]?.close();
    await program.until(/^Connected\.$/m);
    await createAdvertiser(account);
    await program.until(/^advertiser\.created .+ -> 204/m);
  }, 60_000);

  it('missed events are shown, and the new connection continues after the last id', async () => {
    const asked: (string | undefined)[] = [];
    const uuid = '5f2d8c14-7a3e-5b90-8d61-c4e97b02f3a8';
    const about = { resourceType: 'TASK', resourceId: 'tâche', revision: 1, changed: [] };
    const event = { id: `msg_${uuid}`, type: 'task.completed', timestamp: '', data: about };
    const url = await serve(async (request, response) => {
      asked.push(request.headers['last-event-id'] as string | undefined);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const bytes = Buffer.from(
        asked.length === 1
          ? texts.ready('one', 0) + notificationFrame('two', 'task.completed', event)
          : texts.ready('three', 0) + texts.reset('three', '2026-01-01T00:00:00.000Z'),
      );
      // Cuts every character of more than one byte.
      for (let at = 0; at < bytes.length; at += 1) {
        response.write(bytes.subarray(at, at + 1));
        if (at % 16 === 0) await sleep(1);
      }
      if (asked.length === 1) response.end('id: four\nevent: task.completed\ndata: {"cut":');
    });
    const receiver = await receive();
    const program = await listen({ apiKey: 'bx_key' }, { url, to: receiver.url });
    await program.until(/^task\.completed TASK tâche revision 1 -> 204/m);
    const [missed] = await program.until(/^EVENTS WERE MISSED: .+$/m);
    expect(missed).toContain('2026-01-01T00:00:00.000Z');
    expect(asked).toEqual([undefined, 'two']);
    expect(receiver.received.map((one) => bodyOf(one))).toEqual([event]);
  }, 30_000);

  it('a connection that has gone silent is replaced', async () => {
    const account = await service.openAccount();
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: service.port });
    releases.push(() => proxy.close());
    const breaks: string[] = [];
    const frames = streamFrames({
      url: new URL(`http://127.0.0.1:${proxy.port}/api/v2/buyer/realtime`),
      apiKey: account.apiKey,
      onBreak: (why) => {
        breaks.push(why);
        proxy.flow();
      },
      silenceMsMax: 1_500,
    });
    expect((await frames.next()).value).toMatchObject({ event: 'ready' });
    const next = frames.next();
    // Heartbeats come every 500 ms.
    await sleep(2_000);
    expect(breaks).toEqual([]);
    proxy.freeze();
    await createAdvertiser(account);
    expect((await next).value).toMatchObject({ event: 'ready' });
    expect((await frames.next()).value).toMatchObject({ event: 'advertiser.created' });
    expect(breaks).toEqual(['nothing was received for 1.5 s']);
    await frames.return(undefined);
  }, 30_000);
});

describe('Ctrl-C', () => {
  it('ends it at once by the signal, also while an event waits for its answer', async () => {
    const account = await service.openAccount();
    const receiver = await receive(() => undefined);
    const program = await listen(account, { to: receiver.url });
    await createAdvertiser(account);
    await until(async () => receiver.received.length === 1);
    const startMs = performance.now();
    // Null means the signal ended the program. A shell reports 130.
    expect(await program.end('SIGINT')).toBeNull();
    expect(performance.now() - startMs).toBeLessThan(1_000);
  }, 30_000);

  it('in `npx exchange listen` results in status 130', async () => {
    const account = await service.openAccount();
    const receiver = await receive();
    const words = `listen --forward-to ${receiver.url} --url ${service.baseUrl}`;
    const child = spawn('script', ['-qfec', `npx exchange ${words}`, '/dev/null'], {
      cwd: packageDirectory,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], EXCHANGE_API_KEY: account.apiKey },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    releases.push(() => child.kill('SIGKILL'));
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
    await until(async () => shown.includes('Connected.'));
    const ended = once(child, 'close');
    const startMs = performance.now();
    child.stdin.write('\u0003');
    expect((await ended)[0]).toBe(130);
    expect(performance.now() - startMs).toBeLessThan(1_000);
  }, 60_000);
});
