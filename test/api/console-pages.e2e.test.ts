import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { consoleFiles, consolePages } from '../../console/page.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

/** The pages of sign-in, consent and the account, as HTTP answers. `sign-in.browser.test.ts` uses them. */

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.stop());

const call = (path: string, method = 'GET'): Promise<Response> =>
  fetch(service.baseUrl + path, { method, redirect: 'manual' });

const pages = consolePages.map(({ path }) => path.replace('{uid}', 'q3_Kd0-x'));
const files = Object.keys(consoleFiles).map((name) => `/console/${name}`);

const headersOf = ({ headers }: Response) =>
  Object.fromEntries(
    [
      'content-security-policy',
      'cache-control',
      'x-content-type-options',
      'referrer-policy',
      'set-cookie',
      'location',
    ].map((name) => [name, headers.get(name)]),
  );

const pageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join(';'),
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'set-cookie': null,
  location: null,
};

describe.each(pages)('%s', (path) => {
  it('is a page under the strict policy, which is counted for the address', async () => {
    const answer = await call(path);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headersOf(answer)).toEqual(pageHeaders);
    expect(answer.headers.get('x-request-id')).toMatch(/./);
    expect(answer.headers.get('ratelimit-limit')).toMatch(/^\d+$/);
  });

  it('has one script and one style sheet, and names no other host', async () => {
    const page = await (await call(path)).text();
    expect(page.match(/<script\b[^]*?<\/script>/g)).toEqual([
      '<script type="module" src="/console/pages.js"></script>',
    ]);
    const referred = [...page.matchAll(/\s(?:src|href|action|data-from)="([^"]*)"/g)].map(
      ([, url = '']) => url,
    );
    expect(referred.filter((url) => !/^\/(?!\/)/.test(url))).toEqual([]);
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<form[^>]*\s(?:action|method)=/);
  });

  it('says that it needs JavaScript, and hides what works only with it', async () => {
    const page = await (await call(path)).text();
    expect(page).toMatch(/<noscript><p>This page needs JavaScript\./);
    expect(page).toMatch(/<main hidden>/);
  });

  it('names every input, and says how a browser may fill it', async () => {
    const page = await (await call(path)).text();
    const inputs = [...page.matchAll(/<input\b[^>]*>/g)].filter(
      ([input]) => !/ hidden\b|type="hidden"/.test(input),
    );
    const labelled = [...page.matchAll(/<label\b[^]*?<\/label>/g)].filter(([label]) =>
      label.includes('<input'),
    );
    expect(labelled).toHaveLength(inputs.length);
    expect(
      inputs.map(([input]) => input).filter((input) => !/autocomplete="|type="checkbox"/.test(input)),
    ).toEqual([]);
  });
});

it.each(files)('%s has its type and is not sniffed', async (path) => {
  const answer = await call(path);
  const type = Object.entries(consoleFiles).find(([name]) => path.endsWith(name))?.[1];
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
  expect(headersOf(answer)).toEqual(pageHeaders);
});

it('the script loads nothing from another host and runs no text', async () => {
  const script = await (await call('/console/pages.js')).text();
  expect(script).not.toMatch(
    /https?:\/\/|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function/,
  );
});

it.each([...pages, ...files])('HEAD %s is the GET without a body', async (path) => {
  const [get, head] = [await call(path), await call(path, 'HEAD')];
  expect([head.status, await head.text()]).toEqual([200, '']);
  expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
  expect(headersOf(head)).toEqual(headersOf(get));
});

it.each([...pages, ...files])('POST %s is 405', async (path) => {
  const answer = await call(path, 'POST');
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
});

it.each([
  '/console/',
  '/console/Sign-in',
  '/console/sign-in/',
  '/console/oauth/',
  '/console/page.ts',
  '/console/..%2fpackage.json',
])('%s is 404', async (path) => {
  expect((await call(path)).status).toBe(404);
});

it('every file of the folder is sent, and no other', async () => {
  const names = (await readdir('console/pages')).sort();
  expect(names).toEqual(consolePages.map(({ name }) => `${name}.html`).sort());
});
