import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { AssetResource } from '../../domain/assets/resource.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { upload } from '../support/uploads.ts';
import { describeInChromium, startChromium, type Chromium, type Tab } from './chromium.ts';

/**
 * Scripts in uploaded pages never run in a real browser, however the pages are opened. The same bytes without our
 * headers must run, which proves that the test can fail.
 */

/** Notifies the canary in every way that a script has: a request, a navigation, a message to the embedding page. */
const script = (canary: string): string => `
  const ran = '${canary}/ran' + location.search;
  try { parent.postMessage(ran, '*'); opener.postMessage(ran, '*'); } catch {}
  try { fetch(ran, { mode: 'no-cors' }); new Image().src = ran; } catch {}
  setTimeout(() => { location.href = ran; }, 50);`;
const link = (canary: string): string =>
  `javascript:location.href='${canary}/ran'+location.search+'-link';void 0`;

const filesOf = (canary: string): readonly (readonly [mimeType: string, text: string])[] => [
  [
    'text/html',
    `<!doctype html><script>if (!location.search.endsWith('click')) {${script(canary)}}</script>
     <a href="${link(canary)}" style="position:fixed;inset:0">click</a>`,
  ],
  [
    'image/svg+xml',
    `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="200"><script>${script(canary)}</script></svg>`,
  ],
  ['application/xml', `<html xmlns="http://www.w3.org/1999/xhtml"><script>${script(canary)}</script></html>`],
  [
    'text/javascript',
    `self.addEventListener('fetch', () => undefined);
     if (self.document) fetch(document.currentScript.src.replace(/.*[?]/, '${canary}/ran?'), { mode: 'no-cors' });`,
  ],
];

/** The response headers that the proxy removes. */
const variants = {
  'as the service sends it': [],
  'shown as a page under the policy': ['content-disposition'],
  'downloaded, without the policy': ['content-security-policy'],
  'as a server without these headers sends it': [
    'content-disposition',
    'content-security-policy',
    'cross-origin-resource-policy',
    'x-content-type-options',
  ],
} as const;
type Variant = keyof typeof variants;

const frames = ['iframe', 'object', 'embed', 'img'] as const;
const openings = ['navigation', 'popup', 'click', ...frames] as const;
const scriptOpenings = ['worker', 'script'] as const;
type Way = (typeof openings)[number] | (typeof scriptOpenings)[number];

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

let chromium: Chromium;
let service: RunningService;
let canary: string;
const servers: Server[] = [];
const ran = new Set<string>();
/** Paths of assets by media type. */
const assets = new Map<string, string>();

/** The embedding page, of the same host or of another one. */
const hostPage = `<!doctype html><body><script>
  addEventListener('message', ({ data }) => fetch(data, { mode: 'no-cors' }));
</script></body>`;

const startServers = async (): Promise<void> => {
  const witness = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://canary');
    if (pathname === '/ran') ran.add(search.slice(1));
    response.setHeader('Content-Type', 'text/html');
    response.end(hostPage);
  });
  servers.push(witness);
  canary = await listen(witness);
};

/** Starts a proxy of the service that removes some headers and serves an embedding page on the same host. */
const startVariant = async (variant: Variant): Promise<string> => {
  const proxy = createServer((request, response) => {
    if (request.url === '/host') {
      response.setHeader('Content-Type', 'text/html');
      response.end(hostPage);
      return;
    }
    const serviceWorker = request.headers['service-worker'];
    const headers = serviceWorker === undefined ? {} : { 'Service-Worker': String(serviceWorker) };
    void fetch(`${service.baseUrl}${request.url ?? ''}`, { headers }).then(async (answer) => {
      const left: readonly string[] = variants[variant];
      for (const [name, value] of answer.headers) {
        if (!left.includes(name) && name !== 'connection') response.setHeader(name, value);
      }
      // The service never sends this type for a script.
      if (left.length > 1 && request.url?.includes('.js') === true) {
        response.setHeader('Content-Type', 'text/javascript');
      }
      response.statusCode = answer.status;
      response.end(Buffer.from(await answer.arrayBuffer()));
    });
  });
  servers.push(proxy);
  return listen(proxy);
};

/**
 * How long a test waits for scripts that may run, on a busy machine; and how long it watches for scripts that may
 * not.
 */
const RUNS_MS_MAX = 30_000;
const RUNS_MS = 2_000;
const CLICKS = 5;

/**
 * Opens every file in every way.
 * @param expected how many scripts to wait for
 * @returns the opened files whose script ran: `type way`
 */
const openAll = async (variant: Variant, expected = 0): Promise<readonly string[]> => {
  const origin = await startVariant(variant);
  ran.clear();
  for (const [mimeType, asset] of assets) {
    const own = mimeType === 'text/javascript' ? scriptOpenings : openings;
    for (const way of own) await openOne(way, mimeType, origin, asset);
  }
  const startedAt = performance.now();
  while (ran.size < expected && performance.now() - startedAt < RUNS_MS_MAX) await sleep(100);
  await sleep(RUNS_MS);
  await chromium.closeTabs();
  return [...ran].map((one) => decodeURIComponent(one)).sort();
};

const openOne = async (way: Way, mimeType: string, origin: string, asset: string) => {
  if (way === 'click' && mimeType !== 'text/html') return;
  const url = `${origin}${asset}?${encodeURIComponent(`${mimeType} ${way}`)}`;
  const tab = await chromium.open();
  switch (way) {
    case 'navigation':
      return tab.goTo(url);
    case 'click':
      await tab.goTo(url);
      // The first click comes before the link is drawn, on a busy machine.
      for (let clicks = 0; clicks < CLICKS; clicks += 1) {
        await sleep(300);
        // A tab that only downloaded a file closes itself.
        await tab.click(50, 50).catch(() => undefined);
      }
      return;
    case 'popup':
      await tab.goTo(`${canary}/`);
      await tab.evaluate(`void open(${JSON.stringify(url)})`);
      return;
    case 'worker':
      return register(tab, origin, url);
    case 'iframe':
    case 'object':
    case 'embed':
    case 'img':
    case 'script':
      await show(tab, way, canary, url);
      return show(await chromium.open(), way, `${origin}/host`, `${url}${encodeURIComponent(' at home')}`);
    default:
      return way satisfies never;
  }
};

/** Embeds the file as an element in a page of another host or of the same. */
const show = async (tab: Tab, element: string, page: string, url: string): Promise<void> => {
  await tab.goTo(page);
  const source = element === 'object' ? 'data' : 'src';
  await tab.evaluate(`void document.body.append(
    Object.assign(document.createElement('${element}'), { ${source}: ${JSON.stringify(url)} }))`);
};

const register = async (tab: Tab, origin: string, url: string): Promise<void> => {
  await tab.goTo(`${origin}/host`);
  for (const [n, updateViaCache] of ['none', 'all'].entries()) {
    // The request may be answered from the page's cache.
    const registered = await tab.evaluate(`fetch(${JSON.stringify(url + n)}).then(() =>
      navigator.serviceWorker.register(${JSON.stringify(url + n)}, { updateViaCache: '${updateViaCache}' }))
      .then(() => true, () => false)`);
    if (registered === true) ran.add(`${new URL(url).search.slice(1)} ${updateViaCache}`);
  }
};

describeInChromium('an uploaded page, in a browser', (path) => {
  beforeAll(async () => {
    service = await startRunningService();
    await startServers();
    chromium = await startChromium(path);
    const { api } = await service.openAccount();
    const { id } = (await api.post<AdvertiserResource>('/advertisers', { name: 'Acme' })).body.data;
    for (const [mimeType, text] of filesOf(canary)) {
      await upload(api, id, { name: mimeType, mimeType }, Buffer.from(text));
    }
    const { body } = await api.get<AssetResource[]>(`/advertisers/${id}/assets`);
    for (const { mimeType, url } of body.data) assets.set(mimeType, new URL(url).pathname);
    console.log(`${chromium.version}: ${assets.size} files`);
  }, 60_000);
  afterAll(async () => {
    await chromium.close();
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
    await service.stop();
  }, 60_000);

  const pages = ['text/html', 'image/svg+xml', 'application/xml'];

  it('runs in full without the headers', async () => {
    const shown = frames.filter((way) => way !== 'img').flatMap((way) => [way, `${way} at home`]);
    const all = [
      ...pages.flatMap((page) => ['navigation', 'popup', ...shown].map((way) => `${page} ${way}`)),
      'text/html click-link',
      ...['worker all', 'worker none', 'script', 'script at home'].map((way) => `text/javascript ${way}`),
    ];
    expect(await openAll('as a server without these headers sends it', all.length)).toEqual(all.sort());
  }, 120_000);

  it.each(Object.keys(variants).filter((one) => !one.includes('without these headers')) as Variant[])(
    'runs no script %s',
    async (variant) => {
      expect(await openAll(variant)).toEqual([]);
    },
    120_000,
  );
});
