import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { packageDirectory } from '../../app/version.ts';
import { describeDocument, type DescribedDocument } from '../../shared/http/openapi.ts';
import { notFound, refusalOf } from '../support/api-client.ts';
import { breakingChanges } from '../support/breaking-changes.ts';
import { following } from '../support/program.ts';
import { lastRelease, namedBreakingChanges, readReleased, writeAtRelease } from '../support/releases.ts';
import { rawExchange } from '../support/raw-http.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { startToyService } from '../support/toy-service.ts';

/** The service's documents, areas that are not implemented, and paths without a rate limit. */

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const call = (path: string, init: RequestInit = {}): Promise<Response> => fetch(service.baseUrl + path, init);
const authorized = (): Readonly<Record<string, string>> => ({ Authorization: `Bearer ${account.apiKey}` });

describe.each(['', '/api/v2/buyer'])('under "%s"', (base) => {
  it('openapi.yaml is the same document as /openapi.json', async () => {
    const answer = await call(`${base}/openapi.yaml`);
    const text = await answer.text();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/yaml']);
    expect(parse(text)).toEqual(await (await call('/openapi.json')).json());
    // Some parsers do not support YAML aliases.
    expect(text).not.toMatch(/^\s*(?:<<:|[\w$/-]+: [&*]a\d)/m);
  });

  it('skill.md explains the API to an agent', async () => {
    const answer = await call(`${base}/skill.md`);
    const text = await answer.text();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/markdown; charset=utf-8',
    ]);
    expect(text).toContain(`${service.baseUrl}/api/v2/buyer`);
    for (const word of [
      '/.well-known/oauth-authorization-server',
      'Authorization: Bearer',
      'Idempotency-Key',
      'RATE_LIMITED',
      'Storefronts',
    ]) {
      expect(text).toContain(word);
    }
  });

  it('skill.md names existing operations only', async () => {
    const text = await (await call(`${base}/skill.md`)).text();
    const { paths } = (await (await call('/openapi.json')).json()) as {
      paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };
    const named = [...text.matchAll(/`(GET|POST|PUT|DELETE) (\/[\w/{}-]+)`/g)];
    expect(named.length).toBeGreaterThan(10);
    for (const [, method = '', path = ''] of named) {
      expect([path, Object.keys(paths[`/api/v2/buyer${path}`] ?? {})]).toEqual([
        path,
        expect.arrayContaining([method.toLowerCase()]),
      ]);
    }
  });
});

it('openapi.json is compatible with the clients of the last release', async () => {
  const today = (await (await call('/openapi.json')).json()) as Readonly<Record<string, unknown>>;
  writeAtRelease('openapi.json', () =>
    JSON.stringify(today).replaceAll(service.baseUrl, 'http://127.0.0.1:3000'),
  );
  const released = readReleased(lastRelease.version, 'openapi.json') as Readonly<Record<string, unknown>>;
  expect(released['info']).toMatchObject({ version: lastRelease.version });
  expect(breakingChanges(released, today)).toEqual(Object.keys(namedBreakingChanges));
});

type ExampledContent = Readonly<Record<string, { readonly example?: unknown }>>;
interface ExampledOperation {
  readonly operationId: string;
  readonly parameters: readonly { readonly in: string; readonly example?: unknown }[];
  readonly requestBody?: { readonly content: ExampledContent };
  readonly responses: Readonly<Record<string, { readonly content?: ExampledContent }>>;
}

const FILES = ['application/octet-stream', 'image/svg+xml', 'text/css', 'text/javascript'];

describe('openapi.json stands on its own', () => {
  it('each member of a request or an answer has a description', async () => {
    const document = (await (await call('/openapi.json')).json()) as DescribedDocument;
    expect(describeDocument(document, {})).toEqual([]);
  });

  it('a linter finds nothing', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
    const file = join(folder, 'openapi.json');
    await writeFile(file, await (await call('/openapi.json')).text());
    const cli = join(packageDirectory, 'node_modules/@redocly/cli/bin/cli.js');
    const words = ['lint', file, '--config', join(packageDirectory, 'redocly.yaml'), '--format', 'json'];
    const linter = following(
      spawn(process.execPath, [cli, ...words], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, REDOCLY_TELEMETRY: 'off' },
      }),
    );
    const status = await linter.ended;
    const found = linter.output();
    expect([status, /"totals":\s*{[^}]*}/.exec(found)?.[0] ?? found]).toEqual([
      0,
      expect.stringMatching(/"errors":\s*0,\s*"warnings":\s*0/),
    ]);
    await rm(folder, { recursive: true });
  });

  it('each operation has an example of its request and its answer', async () => {
    const { paths } = (await (await call('/openapi.json')).json()) as {
      paths: Readonly<Record<string, Readonly<Record<string, ExampledOperation>>>>;
    };
    const without = Object.values(paths)
      .flatMap((item) => Object.values(item))
      .filter(({ parameters, requestBody, responses }) => {
        const inPath = parameters.filter((one) => one.in === 'path');
        const answers = Object.entries(responses).filter(([status]) => status.startsWith('2'));
        const shown = (content: ExampledContent = {}): boolean =>
          Object.entries(content).some(
            ([type, { example }]) => example !== undefined || FILES.includes(type),
          );
        return !(
          inPath.every(({ example }) => example !== undefined) &&
          (requestBody === undefined || shown(requestBody.content)) &&
          (answers.every(([, { content }]) => content === undefined) ||
            answers.some(([, { content }]) => shown(content)))
        );
      });
    expect(without.map(({ operationId }) => operationId)).toEqual([]);
  });

  it('operations link to guides that exist', async () => {
    const { tags } = (await (await call('/openapi.json')).json()) as {
      tags: readonly { readonly externalDocs?: { readonly url: string } }[];
    };
    const guides = tags.flatMap(({ externalDocs }) => externalDocs?.url ?? []);
    expect(guides.length).toBeGreaterThan(15);
    for (const url of guides) {
      const answer = await fetch(url);
      expect([url, answer.status, answer.headers.get('content-type')]).toEqual([
        url,
        200,
        'text/markdown; charset=utf-8',
      ]);
      expect(await answer.text()).toMatch(/^# /);
    }
    expect((await call('/guides/..%2f..%2fpackage.json')).status).toBe(404);
  });
});

describe('the front page', () => {
  const accept = (types: string): Promise<Response> => call('/', { headers: { Accept: types } });
  interface FrontPage {
    readonly name: string;
    readonly links: readonly { readonly href: string; readonly title: string }[];
  }

  it('is JSON for programs, and each of its links works', async () => {
    const answer = await call('/');
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('vary')]).toEqual([
      200,
      'application/json; charset=utf-8',
      'Accept',
    ]);
    const { name, links } = (await answer.json()) as FrontPage;
    expect(name).toBe('Buyer Exchange');
    const paths = links.map(({ href }) => href.slice(service.baseUrl.length));
    expect(paths).toEqual(
      expect.arrayContaining([
        '/ready',
        '/health',
        '/openapi.json',
        '/openapi.yaml',
        '/docs',
        '/skill.md',
        '/console',
      ]),
    );
    for (const { href } of links) expect([href, (await fetch(href)).status]).toEqual([href, 200]);
  });

  it('is a page without external resources for browsers, with the same links', async () => {
    const answer = await accept('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
    const html = await answer.text();
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('vary')]).toEqual([
      200,
      'text/html; charset=utf-8',
      'Accept',
    ]);
    const { links } = (await (await call('/')).json()) as FrontPage;
    expect([...html.matchAll(/href="([^"]+)"/g)].map(([, href]) => href)).toEqual(
      links.map(({ href }) => href),
    );
    expect(html).not.toMatch(/<(?:script|link|img|iframe)| src=|url\(/);
    const [, style = ''] = /<style>([^]*)<\/style>/.exec(html) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    expect(answer.headers.get('content-security-policy')).toBe(
      `default-src 'none';style-src 'sha256-${hash}';base-uri 'none';form-action 'none';frame-ancestors 'none'`,
    );
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('allows GET only, and is in the OpenAPI document with both types', async () => {
    const post = await call('/', { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    const { paths } = (await (await call('/openapi.json')).json()) as {
      paths: { '/': { get: { responses: { 200: { content: object } }; parameters?: unknown } } };
    };
    const { responses, parameters = [] } = paths['/'].get;
    expect(Object.keys(responses[200].content)).toEqual(['application/json', 'text/html']);
    expect(parameters).toEqual([]);
  });
});

describe('protected resource metadata (RFC 9728)', () => {
  it('is at the address in the challenge', async () => {
    const { headers } = await call('/api/v2/buyer/advertisers');
    const [, url = ''] = /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '') ?? [];
    const answer = await fetch(url);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    expect(await answer.json()).toEqual({
      resource: service.baseUrl,
      authorization_servers: [service.baseUrl],
      resource_name: 'Buyer Exchange',
      resource_documentation: `${service.baseUrl}/skill.md`,
      bearer_methods_supported: ['header'],
      scopes_supported: ['exchange:read', 'exchange:write', 'exchange:admin', 'exchange:review'],
    });
  });

  it('is also under the path of the resource, and names it', async () => {
    const answer = await call('/.well-known/oauth-protected-resource/api/v2/buyer');
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ resource: `${service.baseUrl}/api/v2/buyer` }),
    ]);
  });

  it('contains the configured address and ignores Host', async () => {
    const { port, server } = await startToyService();
    const request =
      'GET /.well-known/oauth-protected-resource HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n';
    const { answers } = await rawExchange(port, request);
    expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({
      resource: 'https://exchange.test',
      resource_documentation: 'https://exchange.test/skill.md',
    });
    await server.drain();
  });
});

describe('an area that is not implemented', () => {
  const paths = [
    '/storefronts',
    '/storefronts/1/products',
    '/discovery',
    '/campaigns/discovery',
    '/campaigns/discovery/creatives',
    '/media-buys/mb_1',
    '/campaigns/cmp_1/media-buys',
    '/campaigns/cmp_1/media-buys/mb_1/status',
    '/proposals',
    '/campaigns/cmp_1/proposals',
    '/optimization-suggestions',
    '/campaigns/cmp_1/optimization-suggestions/1/apply',
    '/property-lists/check',
    '/advertisers/1/property-lists',
    '/reporting/metrics',
    '/activity/',
  ];
  const send = async (path: string, method: string, headers: Readonly<Record<string, string>>) => {
    const answer = await call(`/api/v2/buyer${path}`, { method, headers });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text };
  };

  it.each(paths)('%s answers 501 in the envelope to any method', async (path) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status, text, headers } = await send(path, method, authorized());
      expect([method, status, JSON.parse(text)]).toEqual([
        method,
        501,
        { data: null, error: { code: 'NOT_IMPLEMENTED', message: expect.stringContaining('/openapi.json') } },
      ]);
      expect(Number(headers.get('ratelimit-remaining'))).toBeGreaterThanOrEqual(0);
    }
  });

  it('requires a credential first, with the challenge', async () => {
    for (const path of paths) {
      const { status, headers } = await send(path, 'GET', {});
      expect([path, status, headers.get('www-authenticate')]).toEqual([
        path,
        401,
        expect.stringContaining('resource_metadata='),
      ]);
      expect(headers.get('ratelimit-limit')).not.toBeNull();
    }
  });

  it("counts against the key's limit like any other call", async () => {
    const { api } = await service.openAccount();
    const before = Number((await api.get('/advertisers')).headers.get('ratelimit-remaining'));
    expect(Number((await api.get('/storefronts')).headers.get('ratelimit-remaining'))).toBe(before - 1);
  });

  it('does not match paths of implemented areas', async () => {
    const { api } = account;
    const created = await api.post<{ id: number }>('/advertisers', { name: 'Acme' });
    const campaign = await api.post<{ id: string }>('/campaigns', {
      advertiserId: created.body.data.id,
      name: 'discovery',
    });
    expect((await api.get(`/campaigns/${campaign.body.data.id}`)).status).toBe(200);
    expect(refusalOf(await api.get('/campaigns/discoveries'))).toEqual(notFound());
    expect((await api.get(`/advertisers/${created.body.data.id}/events/summary`)).status).toBe(200);
  });

  it('answers a preflight without a credential', async () => {
    const { status, headers } = await send('/storefronts', 'OPTIONS', {});
    expect([status, headers.get('ratelimit-limit') === null]).toEqual([204, false]);
  });
});

describe('the paths without a rate limit', () => {
  /** The list in docs/guides/limits.md. */
  const uncounted = [
    'GET /live',
    'GET /health',
    'GET /ready',
    'GET /guides/{file}',
    'GET /docs',
    'GET /docs/assets/{file}',
    'GET /openapi.json',
    'GET /openapi.yaml',
    'GET /skill.md',
    'GET /llms.txt',
    'GET /api/v2/buyer/openapi.yaml',
    'GET /api/v2/buyer/skill.md',
    'GET /.well-known/oauth-authorization-server',
    'GET /.well-known/oauth-protected-resource',
    'GET /.well-known/oauth-protected-resource/mcp',
    'GET /.well-known/oauth-protected-resource/mcp/v3',
    'GET /.well-known/oauth-protected-resource/adcp/mcp',
    'GET /.well-known/oauth-protected-resource/api/v2/buyer',
    'GET /assets/{storageKey}',
    'GET /console',
    'GET /console/assets/{file}',
    'GET /api/v2/buyer/realtime',
    'GET /mcp',
    'GET /mcp/v3',
  ];

  it('are these, of all routes', async () => {
    const { paths } = (await (await call('/openapi.json')).json()) as {
      paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };
    const routes = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => [method.toUpperCase(), path] as const),
    );
    const found: string[] = [];
    for (const [method, path] of routes) {
      const { headers, status } = await call(path.replaceAll(/\{\w+\}/g, '1'), { method });
      expect([path, status === 404 && !path.includes('{')]).toEqual([path, false]);
      if (headers.get('ratelimit-limit') === null) found.push(`${method} ${path}`);
    }
    expect(found.toSorted()).toEqual(uncounted.toSorted());
  });

  it.each(['/.well-known/anything', '/assets/none.png'])(
    'include %s, although it does not exist',
    async (path) => {
      const { status, headers } = await call(path);
      expect([status, headers.get('ratelimit-limit')]).toEqual([404, null]);
    },
  );

  it('include reads of assets only', async () => {
    const { status, headers } = await call('/assets/none.png', { method: 'POST' });
    expect([status, headers.get('ratelimit-limit') === null]).toEqual([405, false]);
  });
});
