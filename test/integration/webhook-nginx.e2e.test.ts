import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { readConfig } from '../../app/config.ts';
import { createAccount } from '../../app/create-account.ts';
import type { Installation } from '../../app/installation.ts';
import { startSupervisor, type Supervisor } from '../faults/kit/supervisor.ts';
import type { WebhookAttempt, WebhookDelivery } from '../../domain/webhooks/delivery-resource.ts';
import { apiOf, untilDefinite, type Api } from '../support/api-client.ts';
import { testAuthorityFile, testTls } from '../support/eventstoredb/test-certificates.ts';
import { freePort } from '../support/free-port.ts';
import { describeWithNginx, startNginx, type Nginx } from '../support/nginx.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { sampleKeys } from '../support/sample-mails.ts';
import { testCertificate } from '../support/test-certificate.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

interface NewSubscription {
  readonly subscription: { readonly id: string; readonly statusReason?: string };
  readonly secret: string;
}
interface ShownDelivery extends NewSubscription {
  readonly delivery: WebhookDelivery;
  readonly attempt: WebhookAttempt;
}

/** The shipped program delivers over TLS to nginx, whose certificate an authority of the test has signed. */
describeWithNginx('webhooks to nginx', () => {
  let database: TestDatabase;
  let folder: string;
  let nginx: Nginx;
  let installation: Installation;
  let supervisor: Supervisor;
  let receiver: WebhookReceiver;
  let silent: Server;
  let api: Api;
  let [port, otherPort] = [0, 0];

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await mkdtemp(join(tmpdir(), 'webhooks-'));
    receiver = await startWebhookReceiver((_webhook, response) => response.writeHead(200).end('verified'));
    silent = createServer(() => undefined).listen(0, '127.0.0.1');
    [port, otherPort] = [await freePort(), await freePort()];
    nginx = await startNginx({
      port,
      files: {
        'cert.pem': testTls().certificate,
        'key.pem': testTls().key,
        'other-cert.pem': testCertificate.cert,
        'other-key.pem': testCertificate.key,
        large: 'x'.repeat(5_000_000),
      },
      http: serversOf(
        port,
        otherPort,
        receiver.url,
        (silent.address() as AddressInfo).port,
        await freePort(),
      ),
    });
    const stores = { DATABASE_URL: database.url, DATA_DIR: folder, SECRET_KEYS: sampleKeys };
    installation = await openWithLongTimeouts(readConfig(stores), 'webhooks');
    supervisor = await startSupervisor(1, {
      ...stores,
      OUTBOUND_ALLOW_LOOPBACK: 'true',
      NODE_EXTRA_CA_CERTS: testAuthorityFile,
    });
    await supervisor.ready();
    const { apiKey } = await createAccount(installation, 'Receiver');
    api = apiOf(`http://127.0.0.1:${supervisor.ports[0]}`, { Authorization: `Bearer ${apiKey}` });
  }, 120_000);
  afterAll(async () => {
    await supervisor.stop();
    await installation.close();
    await Promise.all([nginx.stop(), receiver.stop()]);
    silent.close();
    silent.closeAllConnections();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const path = '/webhook-subscriptions';
  /** Tests a new subscription, and waits for the first attempt. */
  const delivered = async (url: string): Promise<ShownDelivery> => {
    const body = { url, eventTypes: ['task.failed'] };
    const created = await untilDefinite(() => api.post<NewSubscription>(path, body));
    expect([created.status, created.text]).toEqual([201, expect.anything()]);
    const one = `${path}/${created.body.data.subscription.id}`;
    expect((await api.post(`${one}/test`, { type: 'task.failed' })).status).toBe(202);
    let id: string | undefined;
    await until(async () => {
      const listed = await api.get<{ deliveries: readonly WebhookDelivery[] }>(`${one}/deliveries`);
      const [first] = listed.body.data.deliveries;
      id = first?.id;
      return (first?.attemptCount ?? 0) > 0;
    }, 60_000);
    const shown = await api.get<{ delivery: WebhookDelivery; attempts: readonly WebhookAttempt[] }>(
      `${one}/deliveries/${id}`,
    );
    const { delivery, attempts } = shown.body.data;
    return { ...created.body.data, delivery, attempt: attempts[0] as WebhookAttempt };
  };
  const at = (location: string): string => `https://127.0.0.1:${port}/${location}`;

  it('arrive over TLS, and are verified by the package standardwebhooks', async () => {
    const { delivery, attempt, secret } = await delivered(at('verified'));
    expect([delivery, attempt]).toMatchObject([{ state: 'delivered' }, { responseHead: 'verified' }]);
    const [got] = receiver.received;
    const verified = new Webhook(secret).verify(got?.body ?? '', got?.headers as Record<string, string>);
    expect(verified).toMatchObject({ type: 'task.failed' });
  });

  it('follow no redirect', async () => {
    expect((await delivered(at('redirect'))).delivery).toMatchObject({ state: 'due', responseStatus: 302 });
    const paths = (await nginx.requests()).map(([, uri]) => uri);
    expect(paths).toContain('/redirect');
    expect(paths).not.toContain('/target');
  });

  it('disable the subscription after 410', async () => {
    const { delivery, subscription } = await delivered(at('gone'));
    expect(delivery).toMatchObject({ state: 'failed', responseStatus: 410 });
    await until(async () => {
      const read = await api.get<NewSubscription>(`${path}/${subscription.id}`);
      return read.body.data.subscription.statusReason === 'gone';
    }, 30_000);
  });

  it('wait as long as 429 with Retry-After asks for', async () => {
    const { responseStatus, nextAttemptAt = '' } = (await delivered(at('later'))).delivery;
    expect(responseStatus).toBe(429);
    const waitMs = Date.parse(nextAttemptAt) - Date.now();
    expect(waitMs).toBeGreaterThan(3_500_000);
    expect(waitMs).toBeLessThanOrEqual(3_600_000);
  });

  it.each(['slow-body', 'large'])('count by the status if the body is %s', async (location) => {
    const { delivery, attempt } = await delivered(at(location));
    expect(delivery).toMatchObject({ state: 'delivered', responseStatus: 200 });
    expect(attempt.responseHead).toMatch(/^x{1,1024}$/);
  });

  it('show that a server before the endpoint cannot reach it', async () => {
    const { delivery } = await delivered(at('unreachable'));
    expect(delivery).toMatchObject({ state: 'due', responseStatus: 502 });
  });

  it('end after 15 s without an answer', async () => {
    const { delivery, attempt } = await delivered(at('silent'));
    expect(delivery).toMatchObject({ state: 'due', error: 'timeout' });
    expect(attempt.durationMs).toBeGreaterThan(14_900);
    expect(attempt.durationMs).toBeLessThan(18_000);
  }, 60_000);

  it('do not trust a certificate of another authority', async () => {
    const { delivery } = await delivered(`https://127.0.0.1:${otherPort}/verified`);
    expect(delivery).toMatchObject({ state: 'due', error: 'tls' });
  });
});

const serversOf = (
  port: number,
  otherPort: number,
  receiverUrl: string,
  silentPort: number,
  closedPort: number,
): string => `
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    location = /verified { proxy_pass ${receiverUrl}; }
    location = /redirect { return 302 https://127.0.0.1:${port}/target; }
    location = /target { return 204; }
    location = /gone { return 410; }
    location = /later { add_header Retry-After 3600 always; return 429; }
    location = /silent { proxy_pass http://127.0.0.1:${silentPort}; proxy_read_timeout 60s; }
    location = /unreachable { proxy_pass http://127.0.0.1:${closedPort}; }
    location = /slow-body { limit_rate 100; alias {folder}/large; error_page 405 =200 $uri; }
    location = /large { root {folder}; error_page 405 =200 $uri; }
  }
  server {
    listen 127.0.0.1:${otherPort} ssl;
    ssl_certificate {folder}/other-cert.pem; ssl_certificate_key {folder}/other-key.pem;
    location / { return 204; }
  }`;
