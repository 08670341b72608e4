import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { variables } from '../../app/config.ts';
import { packageDirectory } from '../../app/version.ts';

const read = (name: string): Promise<string> => readFile(join(packageDirectory, name), 'utf8');

/** `KEY: value` lines below a key, up to the next line that is not indented more. */
const membersOf = (yaml: string, key: string): ReadonlyMap<string, string> => {
  const lines = yaml.split('\n');
  const start = lines.findIndex((line) => line.startsWith(key));
  const members = new Map<string, string>();
  for (const line of lines.slice(start + 1)) {
    const match = /^ {2}([A-Z_]+): (.+)$/.exec(line);
    if (match === null) break;
    members.set(match[1] ?? '', match[2] ?? '');
  }
  return members;
};

/** Substitutes variables as Compose does: the default, or the operator's value. */
const substituted = (value: string): string =>
  value
    .replaceAll(/\$\{BASE_URL:\?[^}]*\}/g, 'https://api.example.com')
    .replaceAll(/\$\{SECRET_KEYS:\?[^}]*\}/g, `2026:${'A'.repeat(43)}`)
    .replaceAll(/\$\{[A-Z_]+:\?[^}]*\}/g, '0123456789abcdef')
    .replaceAll(/\$\{[A-Z_]+:-([^}]*)\}/g, '$1');

const known = variables as unknown as Record<string, { safeParse(value: string): { success: boolean } }>;

describe('docker-compose.yml', () => {
  it.each(['docker-compose.yml', 'docker-compose.cluster.yml'])(
    '%s: the settings exist and their values are accepted',
    async (name) => {
      const settings = membersOf(await read(name), 'x-settings:');
      expect(settings.size).toBeGreaterThan(0);
      for (const [setting, value] of settings) {
        expect([setting, known[setting]?.safeParse(substituted(value)).success]).toEqual([setting, true]);
      }
    },
  );

  it('contains no password except those that the operator must set', async () => {
    const text = await read('docker-compose.yml');
    const passwords = [...text.matchAll(/\$\{\w*PASSWORD(:?.)/g)].map(([, operator]) => operator);
    expect(passwords.length).toBeGreaterThan(0);
    expect(new Set(passwords)).toEqual(new Set([':?']));
    const literal = text
      .split('\n')
      .filter((line) => /(PASSWORD|SECRET)\w*:/.test(line) && !line.includes('${'));
    expect(literal).toEqual([]);
  });

  it('starts every role with a program path that the image contains', async () => {
    const [compose, dockerfile] = [await read('docker-compose.yml'), await read('Dockerfile')];
    expect([...compose.matchAll(/^ {6}ROLES: (\w+)$/gm)].map(([, role]) => role)).toEqual([
      'api',
      'projector',
      'worker',
    ]);
    expect(dockerfile).toContain('dist/bundle/main.js');
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
      files.split(' '),
    );
    const sent = (await read('.dockerignore')).split('\n');
    expect(copied.filter((file) => !sent.includes(`!${file.replace('./', '')}`))).toEqual([]);
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(compose).toContain('dist/bundle/exchange.js');
  });
});

describe('the image', () => {
  it('has a liveness probe that does not check its stores, because a restart would not repair them', async () => {
    const [, path] = /^HEALTHCHECK[^]*?(\/[a-z]+)`/m.exec(await read('Dockerfile')) ?? [];
    expect(path).toBe('/live');
  });
});
