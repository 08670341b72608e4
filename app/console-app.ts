import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { notFound } from '../shared/http/errors.ts';
import { route, type Route } from '../shared/http/route.ts';
import { consoleHeaders } from '../shared/http/security-headers.ts';
import { fileInput, immutableFile } from './immutable-file.ts';
import { packageDirectory } from './version.ts';

const tag = 'Console';
const ASSETS = '/console/assets';

const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface ConsoleFile {
  readonly contentType: string;
  readonly plain: Buffer;
  /** Once it was asked for. */
  compressed?: Promise<Buffer>;
}

/** Not when the process starts: all files together would take a quarter of that time. */
const compressed = (file: ConsoleFile): Promise<Buffer> => (file.compressed ??= promisify(gzip)(file.plain));

interface BuiltConsole {
  readonly page: string;
  readonly files: ReadonlyMap<string, ConsoleFile>;
}

/** Read once: a build while the process runs must not mix two versions. */
export const consoleAppRoutes = (directory = join(packageDirectory, 'dist/console')): readonly Route[] => {
  const built = readBuilt(directory);
  return [assetRoute(built.files), pageRoute(built.page)];
};

const readBuilt = (directory: string): BuiltConsole => {
  if (!existsSync(join(directory, 'index.html'))) return { page: notBuilt, files: new Map() };
  const assets = join(directory, 'assets');
  const files = readdirSync(assets).map((name) => {
    const plain = readFileSync(join(assets, name));
    const contentType = mediaTypes[extname(name)] ?? 'application/octet-stream';
    return [name, { contentType, plain }] as const;
  });
  return { page: readFileSync(join(directory, 'index.html'), 'utf8'), files: new Map(files) };
};

const notBuilt = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Buyer Exchange</title></head>
<body>
<h1>The console is not built</h1>
<p>The service itself runs. The packages of the console could not be installed when it was started, for example because
the npm registry could not be reached. The operator builds it with <code>node console/build.js</code>, and starts the
service again.</p>
</body>
</html>
`;

/** Every address below `/console`: the app in it finds the screen. */
const pageRoute = (page: string): Route =>
  route({
    method: 'get',
    path: '/console',
    withAllBelow: true,
    operationId: 'getConsole',
    summary: 'The web console, at this path and at every path below it',
    tag,
    access: 'public',
    limit: 'none',
    responses: { 200: { description: 'The page of the console', mediaType: 'text/html' } },
    handle: async () => {
      const nonce = randomBytes(16).toString('base64');
      const text = page.replace('"NONCE"', `"${nonce}"`);
      return { status: 200, text, contentType: 'text/html; charset=utf-8', headers: consoleHeaders(nonce) };
    },
  });

const assetRoute = (files: BuiltConsole['files']): Route =>
  route({
    method: 'get',
    path: `${ASSETS}/{file}`,
    operationId: 'getConsoleFile',
    summary: 'A file that the console loads',
    tag,
    access: 'public',
    limit: 'none',
    ...fileInput,
    responses: { 200: { description: 'The file', mediaType: 'text/javascript' } },
    handle: async ({ params, headers }) => {
      const file = files.get(params.file);
      if (file === undefined) throw notFound('file');
      const { contentType } = file;
      const plain = async () => file.plain;
      return immutableFile({ contentType, plain, compressed: () => compressed(file) }, headers);
    },
  });
