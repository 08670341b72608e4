import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';

import { UNSEEN_WINDOW_PARTS } from './chromium.ts';

/** Opens the pages of the console in Chromium, and collects what they must never do. */
export interface ConsoleTabs {
  readonly version: string;
  /** A new person: a tab with its own cookies, in a window of 1,280 × 720 by default. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** A new person with this session. */
  openSession(cookie: string): Promise<Page>;
  /** Since the last call: violations of the policy, errors of scripts, and requests to other hosts. */
  takeProblems(): readonly string[];
  closeTabs(): Promise<void>;
  close(): Promise<void>;
}

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--in-process-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--disable-features=${[
    ...UNSEEN_WINDOW_PARTS,
    // This list replaces the one of playwright. These tests need the following of it: the browser itself sends no requests,
    // opens http addresses as they are, and draws a page at once.
    'AimEnabled',
    'AvoidUnnecessaryBeforeUnloadCheckSync',
    'DestroyProfileOnBrowserClose',
    'HttpsFirstBalancedModeAutoEnable',
    'HttpsUpgrades',
    'LensOverlay',
    'MediaRouter',
    'NetworkTimeServiceQuerying',
    'OptimizationHints',
    'PaintHolding',
    'PreconnectToSearch',
    'ThirdPartyStoragePartitioning',
  ].join(',')}`,
  '--host-resolver-rules=MAP exchange.test 127.0.0.1',
];

const WINDOW = { width: 1_280, height: 720 };

const SESSION = {
  name: '__Host-sc_session',
  domain: '127.0.0.1',
  path: '/',
  secure: true,
  httpOnly: true,
  sameSite: 'Lax',
} as const;

const HOSTS = ['127.0.0.1', 'localhost', 'exchange.test'];

export const startConsoleTabs = async (path: string): Promise<ConsoleTabs> => {
  const browser: Browser = await chromium.launch({ executablePath: path, args: ARGUMENTS });
  const contexts = new Set<BrowserContext>();
  const problems: string[] = [];
  const watch = (page: Page): void => {
    page.on('pageerror', ({ message }) => problems.push(`error: ${message}`));
    page.on('console', (message) => {
      const text = message.text();
      if (/Content Security Policy|violat/i.test(text)) problems.push(`policy: ${text}`);
    });
    page.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol !== 'data:' && !HOSTS.includes(hostname)) problems.push(`request: ${request.url()}`);
    });
  };
  const openContext = async (options: BrowserContextOptions = {}): Promise<BrowserContext> => {
    const context = await browser.newContext({ viewport: WINDOW, reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(20_000);
    context.on('page', watch);
    return context;
  };
  const lasting = await openContext();
  let isLastingFree = true;
  /** For one person: the lasting one has no cookies, but the files of the console in its cache. */
  const takeContext = async (options?: BrowserContextOptions): Promise<BrowserContext> => {
    if (isLastingFree && options === undefined) {
      isLastingFree = false;
      return lasting;
    }
    const context = await openContext(options);
    contexts.add(context);
    return context;
  };
  return {
    version: browser.version(),
    open: async (options) => (await takeContext(options)).newPage(),
    openSession: async (cookie) => {
      const context = await takeContext();
      await context.addCookies([{ ...SESSION, value: cookie }]);
      return context.newPage();
    },
    takeProblems: () => problems.splice(0),
    closeTabs: async () => {
      for (const context of contexts) await context.close();
      contexts.clear();
      for (const page of lasting.pages()) await page.close();
      await lasting.clearCookies();
      isLastingFree = true;
    },
    close: () => browser.close(),
  };
};
