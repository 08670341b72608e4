import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Site } from './challenge.ts';
import { route, type AnyRoute, type Route } from './route.ts';

export interface FrontPageOptions extends Site {
  readonly title: string;
  readonly description: string;
  readonly version: string;
}

const FrontPage = z
  .object({
    name: z.string(),
    description: z.string(),
    version: z.string(),
    links: z.array(z.object({ href: z.string(), title: z.string() })),
  })
  .meta({ id: 'FrontPage' });
type FrontPage = z.output<typeof FrontPage>;

const VARY = { Vary: 'Accept' };

/** An HTML page for browsers, JSON for others. */
export const frontPageRoute = (options: FrontPageOptions, routes: readonly AnyRoute[]): Route =>
  route({
    method: 'get',
    path: '/',
    operationId: 'getFrontPage',
    summary: 'What this service is, and where its documents and its status are',
    tag: 'Documents',
    access: 'public',
    headers: z.object({ accept: z.string().optional() }),
    responses: {
      200: {
        description: 'The service and its links',
        data: FrontPage,
        enveloped: false,
        otherMediaType: 'text/html',
      },
    },
    handle: async ({ headers: { accept = '' } }) => {
      const page = pageOf(options, routes);
      if (!/\btext\/html\b/i.test(accept)) return { status: 200, data: page, headers: VARY };
      const headers = { ...VARY, 'Content-Security-Policy': POLICY };
      return { status: 200, text: htmlOf(page), contentType: 'text/html; charset=utf-8', headers };
    },
  });

const pageOf = (
  { title: name, description, version, baseUrl, apiPath }: FrontPageOptions,
  routes: readonly AnyRoute[],
): FrontPage => {
  const isLinked = ({ method, path, access, ...more }: AnyRoute): boolean =>
    'handle' in more &&
    method === 'get' &&
    access === 'public' &&
    /^\/[a-z.]+$/.test(path) &&
    !path.startsWith(apiPath);
  const links = routes
    .filter(isLinked)
    .map(({ path, summary }) => ({ href: `${baseUrl()}${path}`, title: summary }));
  return { name, description, version, links };
};

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; color-scheme: light dark; }
dt { margin-top: 1rem; }
dd { margin: 0; }
`;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join(';');

const htmlOf = ({ name, description, version, links }: FrontPage): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(name)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(name)}</h1>
<p>${escaped(description)} Version ${escaped(version)}.</p>
<dl>
${links.map(linkOf).join('\n')}
</dl>
</body>
</html>
`;

const linkOf = ({ href, title }: FrontPage['links'][number]): string =>
  `<dt><a href="${escaped(href)}">${escaped(new URL(href).pathname)}</a></dt><dd>${escaped(title)}</dd>`;

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
