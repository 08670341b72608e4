import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { z } from 'zod';

/** `test/run.js` selects suites by this list. A wrong name would have no effect. */
const { slow, withLongForms } = z
  .strictObject({ slow: z.array(z.string()), withLongForms: z.array(z.string()) })
  .parse(JSON.parse(readFileSync('test/slow-suites.json', 'utf8')));

const fileOf = (name: string): string => (name.endsWith('/') ? `test/${name}` : `test/${name}.test.ts`);

it('names suites and folders that exist, each once', () => {
  expect([...slow, ...withLongForms].filter((name) => !existsSync(fileOf(name)))).toEqual([]);
  for (const list of [slow, withLongForms]) expect(list).toEqual([...new Set(list)]);
});

it('names every suite that has a long form', () => {
  const files = (readdirSync('test', { recursive: true }) as string[]).filter((file) =>
    file.endsWith('.test.ts'),
  );
  expect(files.length).toBeGreaterThan(200);
  const found = files.filter((file) => /\bamount\(/.test(readFileSync(`test/${file}`, 'utf8')));
  expect(withLongForms.map((name) => `${name}.test.ts`)).toEqual(expect.arrayContaining(found));
});
