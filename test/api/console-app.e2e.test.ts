import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { apiReferenceRoutes } from '../../app/api-reference.ts';
import { consoleAppRoutes } from '../../app/console-app.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

/** The console as HTTP answers: its page under a strict policy, its files as immutable, no limit. */

let service: RunningService;
beforeAll(async () => {
  // A single request more would be refused.
  service = await startRunningService({ LIMIT_ADDRESS: '1/3600' });
});
afterAll(() => service.stop());

const call = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(service.baseUrl + path, { redirect: 'manual', ...init });
const assets = readdirSync('dist/console/assets');

const addresses = [
  '/console',
  '/console/',
  '/console/campaigns',
  '/console/sign-in?next=%2Fconsole%2Foauth%2Fabc',
  '/console/oauth/q3_Kd0-x',
  '/console/campaigns/cmp_1/creatives/2',
  '/console/..%2fpackage.json',
];

describe.each(addresses)('%s', (path) => {
  it('is the page, with a policy whose nonce is new and stands in the page', async () => {
    const [answer, again] = [await call(path), await call(path)];
    const page = await answer.text();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = answer.headers.get('content-security-policy') ?? '';
    const [, nonce = ''] = /'nonce-([\w+/=]{20,})'/.exec(policy) ?? [];
    expect(policy.replace(nonce, 'N')).toBe(
      "default-src 'none';script-src 'self';style-src 'self' 'nonce-N';connect-src 'self';" +
        "img-src 'self' data: blob:;font-src 'self';base-uri 'none';form-action 'none';frame-ancestors 'none'",
    );
    expect(page).toContain(`content="${nonce}"`);
    expect(again.headers.get('content-security-policy')).not.toBe(policy);
    expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('ratelimit-limit')).toBeNull();
    const named = [...page.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, url = '']) => url);
    expect(named.filter((url) => !url.startsWith('/console/assets/'))).toEqual([]);
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/);
  });
});

it('every file is immutable, has its type, and is sent compressed to a client that accepts it', async () => {
  for (const name of assets) {
    const path = `/console/assets/${name}`;
    const answer = await call(path);
    expect([
      answer.status,
      answer.headers.get('cache-control'),
      answer.headers.get('content-encoding'),
    ]).toEqual([200, 'public, max-age=31536000, immutable', 'gzip']);
    expect(await answer.text()).toBe(readFileSync(join('dist/console/assets', name), 'utf8'));
    const plain = await call(path, { headers: { 'Accept-Encoding': 'identity' } });
    expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([
      null,
      readFileSync(join('dist/console/assets', name), 'utf8'),
    ]);
  }
});

it.each(['/console/assets/gone-00000000.js', '/console/assets/..%2findex.html'])(
  '%s is 404',
  async (path) => {
    expect((await call(path)).status).toBe(404);
  },
);

it('another method is 405', async () => {
  const answer = await call('/console/campaigns', { method: 'POST' });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
});

it('a first load is at most 300 kB gzip', () => {
  const { bytes, files } = JSON.parse(readFileSync('dist/console/first-load.json', 'utf8')) as {
    readonly bytes: number;
    readonly files: readonly string[];
  };
  expect(bytes).toBeLessThanOrEqual(300_000);
  const page = readFileSync('dist/console/index.html', 'utf8');
  const named = [...page.matchAll(/\/console\/(assets\/[^"]+\.(?:js|css))"/g)].map(([, file = '']) => file);
  expect([...files].sort()).toEqual(named.sort());
});

it('/docs is a page of this service only, with a script that is sent compressed', async () => {
  const answer = await call('/docs');
  const page = await answer.text();
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const policy = answer.headers.get('content-security-policy') ?? '';
  const [, nonce = ''] = /'nonce-([\w+/=]{20,})'/.exec(policy) ?? [];
  expect(policy.replace(nonce, 'N')).toBe(
    "default-src 'none';script-src 'self' 'nonce-N';style-src 'self' 'unsafe-inline';connect-src 'self';" +
      "img-src 'self' data:;base-uri 'none';form-action 'none';frame-ancestors 'none'",
  );
  expect([answer.headers.get('cache-control'), answer.headers.get('ratelimit-limit')]).toEqual([
    'no-store',
    null,
  ]);
  expect([...page.matchAll(/<script nonce="([^"]+)"/g)].map(([, one]) => one)).toEqual([nonce]);
  const named = [...page.matchAll(/\s(?:src|href)="([^"]*)"/g)].map(([, url = '']) => url);
  // An empty icon, so that the browser asks for none.
  expect(named.filter((url) => !url.startsWith('/'))).toEqual(['data:,']);
  const script = named.find((url) => url.startsWith('/docs/assets/')) ?? '';
  const [compressed, plain] = [
    await call(script),
    await call(script, { headers: { 'Accept-Encoding': 'identity' } }),
  ];
  expect([compressed, plain].map(({ headers }) => headers.get('content-encoding'))).toEqual(['gzip', null]);
  // Without the character set, browsers read the script wrongly.
  expect(plain.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  const texts = await Promise.all([compressed.text(), plain.text()]);
  expect([texts[0] === texts[1], texts[0].includes('createApiReference')]).toEqual([true, true]);
  expect((await call('/docs/assets/..%2fpackage.json')).status).toBe(404);
});

it('without the built console and the script of /docs, their pages say how to build them', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'console-'));
  const other = await startRunningService({}, undefined, {
    routes: [...consoleAppRoutes(empty), ...apiReferenceRoutes(empty)].map((one) => ({
      ...one,
      path: `/unbuilt${one.path}`,
      operationId: `${one.operationId}2`,
    })),
  });
  for (const path of ['/console', '/docs']) {
    const answer = await fetch(`${other.baseUrl}/unbuilt${path}`);
    expect(await answer.text()).toContain('node console/build.js');
  }
  await other.stop();
  rmSync(empty, { recursive: true });
});
