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
    if (/^ *#/.test(line)) continue;
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

/** By the image or the files, or only for a process that is started without a container. */
const decided = [
  'NODE_ENV',
  'PORT',
  'HOST',
  'DATA_DIR',
  'ROLES',
  'DRAIN_DELAY_MS',
  'POSTGRES_BUFFERS_MB',
  'POSTGRES_WAL_MB',
  'OUTBOUND_ALLOW_LOOPBACK',
  'PROPOSAL_SELLER_MS',
  'EXCHANGE_API_KEY',
  'EXCHANGE_FAILPOINTS',
  'EXCHANGE_FAILPOINT_FILE',
  'LOG_FORMAT',
];
const withoutThem = ['EVENTSTORE_URL', 'REDIS_URL'];

const known = variables as unknown as Record<string, { safeParse(value: string): { success: boolean } }>;

describe('docker-compose.yml', () => {
  it.each(['docker-compose.yml', 'docker-compose.cluster.yml', 'docker-compose.postgres.yml'])(
    '%s: the settings exist and their values are accepted',
    async (name) => {
      const settings = membersOf(await read(name), 'x-settings:');
      expect(settings.size).toBeGreaterThan(0);
      for (const [setting, value] of settings) {
        const text = substituted(value);
        // Empty is absent.
        const isAccepted = text === '' ? setting in known : known[setting]?.safeParse(text).success;
        expect([setting, isAccepted]).toEqual([setting, true]);
      }
    },
  );

  it.each(['docker-compose.yml', 'docker-compose.postgres.yml'])(
    '%s: every setting can be set in .env, except those that the file or the image decides',
    async (name) => {
      const text = await read(name);
      const settable = new Set(
        [...text.matchAll(/^ +([A-Z_]+): .*\$\{\w+/gm)].map(([, setting = '']) => setting),
      );
      const rest = Object.keys(known).filter((setting) => !settable.has(setting));
      expect(rest.toSorted()).toEqual(
        [...decided, ...(name.includes('postgres') ? withoutThem : [])].toSorted(),
      );
    },
  );

  it('deploy/.env.example names the variables of the Compose files, and no others', async () => {
    const files = await Promise.all(
      ['docker-compose.yml', 'docker-compose.cluster.yml', 'docker-compose.postgres.yml'].map(read),
    );
    const used = files.flatMap((text) =>
      [...text.matchAll(/(?<!\$)\$\{([A-Z_]+)/g)].map(([, variable = '']) => variable),
    );
    const example = [...(await read('deploy/.env.example')).matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(
      ([, one = '']) => one,
    );
    expect(example.toSorted()).toEqual([...new Set([...used, 'COMPOSE_FILE'])].toSorted());
  });

  it('contains no password except those that the operator must set', async () => {
    const text = await read('docker-compose.yml');
    const passwords = [...text.matchAll(/\$\{\w*_PASSWORD(?!_)(:?.)/g)].map(([, operator]) => operator);
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
    const isSent = (file: string): boolean =>
      sent.includes(`!${file}`) || (file.includes('/') && isSent(file.slice(0, file.lastIndexOf('/'))));
    expect(copied.filter((file) => !isSent(file.replace('./', '')))).toEqual([]);
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(compose).toContain('dist/bundle/exchange.js');
  });
});

describe('the image', () => {
  it('has a liveness probe that does not check its stores, because a restart would not repair them', async () => {
    const [, program = ''] = /^HEALTHCHECK.*CMD \["node", "([^"]+)"\]$/m.exec(await read('Dockerfile')) ?? [];
    expect(await read(program)).toMatch(/http:\/\/127\.0\.0\.1:.+\/live`/);
    expect(await read('Dockerfile')).toContain(`COPY ${program} ./${program}`);
  });
});
