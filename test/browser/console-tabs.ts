import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';

/** Opens the pages of the console in Chromium, and collects what they must never do. */
export interface ConsoleTabs {
  readonly version: string;
  /** A new person: a tab with its own cookies. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** Since the last call: violations of the policy, errors of scripts, and requests to other hosts. */
  takeProblems(): readonly string[];
  closeTabs(): Promise<void>;
  close(): Promise<void>;
}

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP exchange.test 127.0.0.1',
];

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
  return {
    version: browser.version(),
    open: async (options) => {
      const context = await browser.newContext(options);
      contexts.add(context);
      context.setDefaultTimeout(20_000);
      context.on('page', watch);
      return context.newPage();
    },
    takeProblems: () => problems.splice(0),
    closeTabs: async () => {
      for (const context of contexts) await context.close();
      contexts.clear();
    },
    close: () => browser.close(),
  };
};
