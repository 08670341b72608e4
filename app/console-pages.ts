import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { consoleFiles, consolePages, documentOf, type ConsolePage } from '../console/page.ts';
import { route, type Route } from '../shared/http/route.ts';
import { pageHeaders } from '../shared/http/security-headers.ts';
import { packageDirectory } from './version.ts';

const tag = 'Console';
const headers = pageHeaders();

/** Read once: what is sent never changes while the process runs. */
export const consoleRoutes = (): readonly Route[] => [
  ...consolePages.map(pageRoute),
  ...Object.entries(consoleFiles).map(([name, contentType]) => fileRoute(name, contentType)),
];

const read = (path: string): string => readFileSync(join(packageDirectory, 'console', path), 'utf8');

const pageRoute = ({ name, path, title }: ConsolePage): Route => {
  const text = documentOf(title, read(`pages/${name}.html`));
  return route({
    method: 'get',
    path,
    operationId: operationIdOf(name, 'Page'),
    summary: `Page: ${title}`,
    tag,
    access: 'public',
    ...(path.endsWith('{uid}') && { params: z.object({ uid: z.string() }) }),
    responses: { 200: { description: 'A page for a browser', mediaType: 'text/html' } },
    handle: async () => ({ status: 200, text, contentType: 'text/html; charset=utf-8', headers }),
  });
};

const fileRoute = (name: string, contentType: string): Route => {
  const text = read(name);
  const [mediaType = contentType] = contentType.split(';');
  return route({
    method: 'get',
    path: `/console/${name}`,
    operationId: operationIdOf(name, 'File'),
    summary: `What the pages load: ${name}`,
    tag,
    access: 'public',
    responses: { 200: { description: 'A part of the pages', mediaType } },
    handle: async () => ({ status: 200, text, contentType, headers }),
  });
};

/** `getSignInPage` */
const operationIdOf = (name: string, kind: string): string =>
  `get-${name}-${kind}`.replaceAll(/[-.]([a-z])/gi, (_, letter: string) => letter.toUpperCase());
