import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { notFound } from '../../shared/http/errors.ts';
import { route, type Route } from '../../shared/http/route.ts';
import { packageDirectory } from '../version.ts';

const PATH = '/guides';
const FOLDER = join(packageDirectory, 'docs', 'guides');

export const guideAddress = (baseUrl: string, name: string): string => `${baseUrl}${PATH}/${name}.md`;

/** The guides that operations link to, as they are in `docs/guides/`. */
export const guidesRoute = (): Route => {
  const files = new Set(readdirSync(FOLDER));
  return route({
    method: 'get',
    path: `${PATH}/{file}`,
    operationId: 'getGuide',
    summary: 'A guide, as Markdown',
    tag: 'Documents',
    access: 'public',
    limit: 'none',
    params: z.object({
      file: z.string().meta({ description: 'File name of the guide, e.g. `campaigns.md`.' }),
    }),
    responses: { 200: { description: 'The guide', mediaType: 'text/markdown' } },
    handle: async ({ params: { file } }) => {
      if (!files.has(file)) throw notFound('guide');
      const text = await readFile(join(FOLDER, file), 'utf8');
      return { status: 200, text, contentType: 'text/markdown; charset=utf-8' };
    },
  });
};
