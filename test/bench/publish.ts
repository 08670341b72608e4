import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageDirectory } from '../../app/version.ts';
import { mergeFigures, type Figures } from './figures/figures.ts';
import { documentPaths, publicationOf, type Documents } from './figures/publication.ts';

/**
 * `npm run bench:publish -- FILE...` writes the figures of one or several runs (`npm run bench -- --json FILE`) to
 * `test/bench/results/performance.json` and all pages made from it. A scenario's lines are those of the last file that
 * contains it. Name `test/bench/results/performance.json` first to keep the present lines.
 */

const files = process.argv.slice(2);
if (files.length === 0) throw new Error('npm run bench:publish -- FILE...: name at least one file');
const read = (path: string): Promise<string> => readFile(join(packageDirectory, path), 'utf8');
const figures = mergeFigures(
  await Promise.all(files.map(async (file) => JSON.parse(await readFile(file, 'utf8')) as Figures)),
);
const documents = Object.fromEntries(
  await Promise.all(documentPaths.map(async (path) => [path, await read(path)] as const)),
) as Documents;
const publication = publicationOf(figures, documents);
for (const [path, text] of Object.entries(publication)) await writeFile(join(packageDirectory, path), text);
process.stdout.write(`written: ${Object.keys(publication).join(', ')}\n`);
