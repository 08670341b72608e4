import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { notFound } from '../shared/http/errors.ts';
import { route, type Route } from '../shared/http/route.ts';
import { referenceHeaders } from '../shared/http/security-headers.ts';
import { fileInput, immutableFile } from './immutable-file.ts';
import { packageDirectory } from './version.ts';

const tag = 'Documents';
const PATH = '/docs';

/** The API document as a page, on which a reader can send requests. `console/api-reference.js` fetches its script. */
export const apiReferenceRoutes = (
  directory = join(packageDirectory, 'dist/api-reference'),
): readonly Route[] => {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  const [script] = names
    .filter((name) => name.endsWith('.js.gz'))
    .map((name) => name.slice(0, -'.gz'.length));
  return [pageRoute(script), scriptRoute(directory, script)];
};

const pageRoute = (script: string | undefined): Route =>
  route({
    method: 'get',
    path: PATH,
    operationId: 'getApiReference',
    summary: 'This API as a page, from which requests can be sent',
    tag,
    access: 'public',
    limit: 'none',
    responses: { 200: { description: 'The page', mediaType: 'text/html' } },
    handle: async () => {
      const nonce = randomBytes(16).toString('base64');
      return {
        status: 200,
        text: script === undefined ? notBuilt : pageOf(script, nonce),
        contentType: 'text/html; charset=utf-8',
        headers: referenceHeaders(nonce),
      };
    },
  });

/** Nothing of another host, no telemetry, and keys only in the memory of the page. */
const CONFIGURATION = {
  url: '/openapi.json',
  withDefaultFonts: false,
  proxyUrl: '',
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  persistAuth: false,
  showDeveloperTools: 'never',
  defaultOpenAllTags: false,
  authentication: { preferredSecurityScheme: 'bearer' },
};

const pageOf = (script: string, nonce: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Buyer Exchange API</title>
<link rel="icon" href="data:,">
</head>
<body>
<noscript><p>This page needs JavaScript. The same document: <a href="/openapi.yaml">/openapi.yaml</a>.</p></noscript>
<div id="reference"></div>
<script src="${PATH}/assets/${script}"></script>
<script nonce="${nonce}">
Scalar.createApiReference('#reference', {
  ...${JSON.stringify(CONFIGURATION)},
  // The address of this page: a policy allows no other.
  servers: [{ url: location.origin, description: 'This service' }],
});
</script>
</body>
</html>
`;

const notBuilt = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Buyer Exchange API</title></head>
<body>
<h1>The API reference is not built</h1>
<p>The service itself runs, and <a href="/openapi.yaml">/openapi.yaml</a> is the same document. The script of this page
could not be fetched when the service was started, for example because the npm registry could not be reached. The operator
fetches it with <code>node console/build.js</code>, and starts the service again.</p>
</body>
</html>
`;

const scriptRoute = (directory: string, script: string | undefined): Route =>
  route({
    method: 'get',
    path: `${PATH}/assets/{file}`,
    operationId: 'getApiReferenceScript',
    summary: 'The script of the page of this API',
    tag,
    access: 'public',
    limit: 'none',
    ...fileInput,
    responses: { 200: { description: 'The script', mediaType: 'text/javascript' } },
    handle: async ({ params: { file }, headers }) => {
      if (file !== script) throw notFound('file');
      const compressed = () => readFile(join(directory, `${file}.gz`));
      const plain = async () => promisify(gunzip)(await compressed());
      return immutableFile({ contentType: 'text/javascript; charset=utf-8', plain, compressed }, headers);
    },
  });
