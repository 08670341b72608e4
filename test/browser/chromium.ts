import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { describe } from '@jest/globals';

/** The installed Chromium: `CHROMIUM_PATH` or Debian's path; undefined when neither exists. */
const findChromium = (): string | undefined =>
  [process.env['CHROMIUM_PATH'], '/usr/bin/chromium'].find((path) => {
    try {
      if (path !== undefined) accessSync(path, constants.X_OK);
      return path !== undefined;
    } catch {
      return false;
    }
  });

/**
 * Features of Chromium that load pages for the address bar of each window, which no test sees: they took half of the
 * time of a new window. And one that starts a process for a page that may come, after each page.
 */
export const UNSEEN_WINDOW_PARTS = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'SpareRendererForSitePerProcess',
] as const;

/** A suite that needs Chromium. Without it, its tests are skipped, or fail under `CI=true`. */
export const describeInChromium = (name: string, tests: (path: string) => void): void => {
  const path = findChromium();
  if (path === undefined) {
    if (process.env['CI'] === 'true') throw new Error('Chromium not found: set CHROMIUM_PATH');
    console.warn(`Chromium not found: set CHROMIUM_PATH. Not tested: ${name}.`);
  }
  (path === undefined ? describe.skip : describe)(name, () => tests(path ?? ''));
};

/** One tab. */
export interface Tab {
  /** Resolves when the navigation has ended, in a page or in a download. */
  goTo(url: string): Promise<void>;
  /**
   * Runs an expression in the loaded page, with the rights of a user's click, and awaits its promise.
   * @throws the expression's error
   */
  evaluate(expression: string): Promise<unknown>;
  /** Clicks with the mouse, in pixels from the upper left corner. */
  click(x: number, y: number): Promise<void>;
}

export interface Chromium {
  readonly version: string;
  open(): Promise<Tab>;
  /** Closes every tab, also tabs that pages have opened. */
  closeTabs(): Promise<void>;
  close(): Promise<void>;
}

interface Message {
  readonly id?: number;
  readonly error?: { readonly message: string };
  readonly result?: unknown;
}

const ANSWER_MS_MAX = 20_000;

/** Speaks the DevTools protocol over pipes 3 and 4: JSON messages, each ended by NUL. */
const connectDevTools = (child: ChildProcess) => {
  const [, , , input, output] = child.stdio as unknown as [null, null, null, Writable, Readable];
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  let rest = '';
  let last = 0;
  output.setEncoding('utf8').on('data', (text: string) => {
    const messages = (rest + text).split('\0');
    rest = messages.pop() ?? '';
    for (const { id, error, result } of messages.map((one) => JSON.parse(one) as Message)) {
      if (id === undefined) continue;
      const asked = waiting.get(id);
      waiting.delete(id);
      if (error === undefined) asked?.resolve(result);
      else asked?.reject(new Error(error.message));
    }
  });
  return async <Result>(method: string, params: object = {}, sessionId?: string): Promise<Result> => {
    last += 1;
    const id = last;
    const answer = new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      setTimeout(() => reject(new Error(`${method} got no answer`)), ANSWER_MS_MAX).unref();
    });
    input.write(`${JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) })}\0`);
    return (await answer) as Result;
  };
};

/** Starts a headless Chromium with a new profile and without background requests. */
export const startChromium = async (path: string): Promise<Chromium> => {
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'));
  const disabled = [
    'quic',
    'background-networking',
    'component-update',
    'sync',
    'gpu',
    'dev-shm-usage',
    'popup-blocking',
    // Hidden tabs must run at full speed.
    'background-timer-throttling',
    'backgrounding-occluded-windows',
    'renderer-backgrounding',
  ];
  const child = spawn(
    path,
    [
      '--headless',
      '--no-sandbox',
      '--no-first-run',
      ...disabled.map((what) => `--disable-${what}`),
      `--disable-features=${UNSEEN_WINDOW_PARTS.join(',')}`,
      `--user-data-dir=${profile}`,
      '--remote-debugging-pipe',
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
  );
  const call = connectDevTools(child);
  const { product } = await call<{ product: string }>('Browser.getVersion');
  await call('Browser.setDownloadBehavior', { behavior: 'deny' });
  return {
    version: product,
    open: async () => {
      const { targetId } = await call<{ targetId: string }>('Target.createTarget', { url: 'about:blank' });
      const { sessionId } = await call<{ sessionId: string }>('Target.attachToTarget', {
        targetId,
        flatten: true,
      });
      return tabOf((method, params) => call(method, params, sessionId));
    },
    closeTabs: async () => {
      const { targetInfos } = await call<{ targetInfos: readonly { targetId: string; type: string }[] }>(
        'Target.getTargets',
      );
      for (const { targetId, type } of targetInfos) {
        if (type === 'page') await call('Target.closeTarget', { targetId });
      }
    },
    close: async () => {
      const exited = once(child, 'exit');
      await call('Browser.close');
      await exited;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
};

const LOADED = `new Promise((done) =>
  document.readyState === 'complete' ? done() : addEventListener('load', () => done()))`;

const tabOf = (call: <Result>(method: string, params?: object) => Promise<Result>): Tab => ({
  goTo: async (url) => {
    await call('Page.navigate', { url });
  },
  evaluate: async (expression) => {
    const asked = { awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = await call<{
      result: { value?: unknown };
      exceptionDetails?: { text: string };
    }>('Runtime.evaluate', { ...asked, expression: `${LOADED}.then(() => (${expression}))` });
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
    return result.value;
  },
  click: async (x, y) => {
    for (const type of ['mousePressed', 'mouseReleased']) {
      await call('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
    }
  },
});
