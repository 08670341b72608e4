import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { steps } from '../../domain/syndication/syndication-states.ts';
import { creativeEngines } from '../../domain/engines/creative-engines.ts';

/** What documents say and a program decides. */

/** Made by a program; `docs/reference` is looked up, not read. */
const GENERATED = /^docs\/reference\//;

/** Pages that may be longer, with their bytes. */
const LONGER: Readonly<Record<string, number>> = {
  'docs/performance.md': 12 * 1024,
  'docs/design/architecture.md': 10_000,
};

const read = (file: string): Promise<string> => readFile(file, 'utf8');

it('the oldest Node.js that is supported is the same everywhere', async () => {
  const Engines = z.object({ engines: z.object({ node: z.string() }) });
  const Lock = z.object({ packages: z.object({ '': Engines }) });
  const { engines } = Engines.parse(JSON.parse(await read('package.json')));
  const locked = Lock.parse(JSON.parse(await read('package-lock.json'))).packages[''].engines;
  expect([engines.node, locked.node]).toEqual(['>=20.19', '>=20.19']);
  expect(await read('README.md')).toContain('Node.js 20.19 or newer');
});

describe('what is not there yet', () => {
  it('engines that nobody calls are stand-ins, in the directory and in the documents', async () => {
    const document = await read('docs/guides/engines.md');
    for (const { id, name, standIn } of creativeEngines) {
      expect(document).toMatch(new RegExp(`^\\| ${id} +\\| ${name} +\\| ${standIn} `, 'm'));
    }
    expect(creativeEngines.filter(({ standIn }) => standIn).map(({ id }) => id)).toEqual([2, 3]);
    expect(await read('README.md')).toContain('`standIn: true`');
    expect(await read('README.md')).not.toContain('nothing here is a stub');
  });
});

const trackedFiles = (...patterns: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns], {
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => path !== '' && existsSync(path));

describe('links', () => {
  const files = trackedFiles('*.md');
  const anchorsOf = (path: string): readonly string[] =>
    [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
        .replaceAll(' ', '-'),
    );
  const brokenIn = (path: string): readonly string[] =>
    [...readFileSync(path, 'utf8').matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
      ([link, file = '', anchor]) => {
        const target = file === '' ? path : join(dirname(path), file);
        if (!existsSync(target)) return [`${path}: ${link}`];
        return anchor === undefined || anchorsOf(target).includes(anchor) ? [] : [`${path}: ${link}`];
      },
    );

  it('of every document lead to a file and a heading that exist', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.flatMap(brokenIn)).toEqual([]);
  });
});

const documents = (): readonly string[] => trackedFiles('*.md');

const withoutCode = (page: string): string =>
  page.replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`\n]*`/g, '');

describe('pages', () => {
  it('are short: the README 7 kB, a page 8 kB', async () => {
    const sizes = await Promise.all(
      trackedFiles('README.md', 'docs/**.md').map(async (path) => ({
        path,
        bytes: Buffer.byteLength(await read(path)),
      })),
    );
    const most = (path: string): number => (path === 'README.md' ? 7 * 1024 : (LONGER[path] ?? 8 * 1024));
    const tooLong = sizes.filter(({ path, bytes }) => !GENERATED.test(path) && bytes > most(path));
    expect(tooLong).toEqual([]);
  });

  it('are reachable: every page of docs is linked from another', async () => {
    const linked = new Set<string>();
    const all = documents();
    for (const path of all) {
      for (const [, href = ''] of withoutCode(await read(path)).matchAll(/\]\(([^)\s#]+)/g)) {
        const target = join(dirname(path), href);
        if (target !== path) linked.add(target);
      }
    }
    expect(all.filter((path) => path.startsWith('docs/') && !linked.has(path))).toEqual([]);
  });
});

it('comments and settings name documents that exist', async () => {
  const files = trackedFiles('*.ts', '*.yml', '.env.example');
  const named = await Promise.all(
    files.map(async (file) =>
      [...(await read(file)).matchAll(/(?<![\w./-])docs\/[\w/-]+\.(?:md|json|svg)\b/g)].map(([path]) => ({
        file,
        path,
      })),
    ),
  );
  expect(named.flat().length).toBeGreaterThan(10);
  expect(
    named.flat().filter(({ file, path }) => !existsSync(path) && !file.includes('unit/phrases')),
  ).toEqual([]);
});

it('the states of a syndication record are drawn as its table of steps declares them', async () => {
  const [, picture = ''] =
    /^### Syndication\n.*?```mermaid\n(.*?)```/ms.exec(await read('docs/concepts.md')) ?? [];
  const drawn = [...picture.matchAll(/^ +(\S+) --> (\w+): (\w+)$/gm)].map(
    ([, from, to, step]) => `${from} ${step} ${to}`,
  );
  const declared = Object.entries(steps).flatMap(([name, step]) =>
    'to' in step
      ? step.from
          .filter((from) => from !== step.to)
          .map((from) => `${from === 'NONE' ? '[*]' : from} ${name} ${step.to}`)
      : [],
  );
  expect(drawn.sort()).toEqual(declared.sort());
});
