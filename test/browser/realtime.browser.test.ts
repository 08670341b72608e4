import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startTcpProxy, type TcpProxy } from '../faults/kit/tcp-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { signUp, type SignedUp } from '../support/person.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { until } from '../support/until.ts';
import { describeInChromium } from './chromium.ts';
import { startConsoleTabs, type ConsoleTabs } from './console-tabs.ts';

describeInChromium('the EventSource of a browser', (chromiumPath) => {
  let service: RunningService;
  let proxy: TcpProxy;
  let tabs: ConsoleTabs;
  const elsewhere = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end('<!doctype html><body>another origin');
  });
  beforeAll(async () => {
    const port = await freePort();
    proxy = await startTcpProxy({ host: '127.0.0.1', port });
    service = await startRunningService({
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${proxy.port}`,
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    tabs = await startConsoleTabs(chromiumPath);
  }, 60_000);
  afterEach(() => tabs.closeTabs());
  afterAll(async () => {
    await tabs.close();
    elsewhere.closeAllConnections();
    elsewhere.close();
    await proxy.close();
    await service.stop();
  }, 60_000);

  const signedIn = async (url: string): Promise<{ readonly page: Page; readonly user: SignedUp }> => {
    const [page, user] = [await tabs.open(), await signUp(service)];
    await page.context().addCookies([
      {
        name: '__Host-sc_session',
        value: user.person.cookie ?? '',
        domain: '127.0.0.1',
        path: '/',
        secure: true,
        httpOnly: true,
        sameSite: 'Lax',
      },
    ]);
    // Pages of the console open a stream themselves.
    await page.goto(url, { waitUntil: 'networkidle' });
    return { page, user };
  };
  const create = async ({ person }: SignedUp, name: string): Promise<void> => {
    expect((await person.post('/api/v2/buyer/advertisers', { name })).status).toBe(201);
  };
  const listen = (page: Page, url: string): Promise<void> =>
    page.evaluate(`
      window.received = [];
      window.source = new EventSource(${JSON.stringify(url)}, { withCredentials: true });
      for (const kind of ['ready', 'advertiser.created', 'bye', 'error'])
        source.addEventListener(kind, ({ data }) => received.push([kind, data ? JSON.parse(data).id : undefined]));`);
  type ReceivedFrame = readonly (readonly [kind: string, id: string | undefined])[];
  const received = async (page: Page, count: number): Promise<ReceivedFrame> => {
    let all: ReceivedFrame = [];
    await until(async () => {
      all = await page.evaluate<ReceivedFrame>('window.received');
      return all.filter(([kind]) => kind !== 'error').length >= count;
    });
    return all;
  };
  const untilClosed = (page: Page): Promise<number> =>
    until(() => page.evaluate<boolean>('window.source.readyState === EventSource.CLOSED'));

  it('gets the events of the account of a signed-in person, over broken connections', async () => {
    const { page, user } = await signedIn(`${service.baseUrl}/docs`);
    await listen(page, '/api/v2/buyer/realtime');
    await received(page, 1);
    await create(user, 'One');
    await received(page, 2);
    proxy.down();
    proxy.up();
    await until(async () => (await fetch(`${service.baseUrl}/live`).catch(() => undefined))?.ok === true);
    await create(user, 'Two');
    const kinds = await received(page, 4);
    expect(kinds.map(([kind]) => kind)).toEqual([
      'ready',
      'advertiser.created',
      'error',
      'ready',
      'advertiser.created',
    ]);
    const { body } = await user.person.get<{ events: { id: string }[] }>(
      '/api/v2/buyer/events?types=advertiser.created',
    );
    expect(kinds.flatMap(([, id]) => id ?? [])).toEqual(body.data.events.map(({ id }) => id));
  });

  it('ends when the person signs out, and is refused when it comes back', async () => {
    const { page, user } = await signedIn(`${service.baseUrl}/docs`);
    await listen(page, '/api/v2/buyer/realtime');
    await received(page, 1);
    await user.person.post('/auth/sign-out');
    await received(page, 2);
    await untilClosed(page);
  });

  it('of a page of another origin gets nothing, although the browser sends the cookie', async () => {
    const other = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    const { page } = await signedIn(other);
    const network = await page.context().newCDPSession(page);
    const [sites, statuses] = [[] as unknown[], [] as unknown[]];
    network.on('Network.requestWillBeSentExtraInfo', ({ headers }) => sites.push(headers['Sec-Fetch-Site']));
    network.on('Network.responseReceivedExtraInfo', ({ statusCode }) => statuses.push(statusCode));
    await network.send('Network.enable');
    await listen(page, `${service.baseUrl}/api/v2/buyer/realtime`);
    await untilClosed(page);
    expect(await page.evaluate('window.received.map(([kind]) => kind)')).toEqual(['error']);
    // Before it: the icon of the page.
    expect([sites.at(-1), statuses.at(-1)]).toEqual(['same-site', 403]);
  });
});
