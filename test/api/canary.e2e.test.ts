import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { afterAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { pino } from 'pino';
import type { ApiKeyResource } from '../../src/domain/accounts/account-resource.ts';
import { createKey, createUser, setAccess } from '../../src/operator/accounts.ts';
import { EventStoreUnavailableError } from '../../src/shared/event-store/event-store.ts';
import { apiOf, type Api } from '../support/api-client.ts';
import { startRunningService } from '../support/running-service.ts';
import { describeWithRedis } from '../support/describe-with-redis.ts';
import { createTestRedis } from '../support/test-redis.ts';

/**
 * Secrets driven through every flow that meets one, failures included; then looked for everywhere: they may be in
 * the one answer that shows them, and nowhere else (security.md 3.10).
 */

type NewKey = ApiKeyResource & { readonly key: string };

const SECRET_CHARS = 43;
/** As they are, as Postgres prints bytes, and as bytes are often written. */
const formsOf = (secret: string): readonly string[] => [
  secret,
  Buffer.from(secret).toString('hex'),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret, 'base64url').toString('hex'),
];

const testRedis = createTestRedis();
const inRedis = { REDIS_URL: testRedis.url, REDIS_KEY_PREFIX: testRedis.keyPrefix };
const stores = [
  ['Postgres', describe, {}],
  ['Redis', await describeWithRedis(), inRedis],
] as const;
afterAll(() => testRedis.clear());

describe.each(stores)('with counters in %s', (store, describeStore, settings) => {
  describeStore('secrets', () => {
    it('are in no log, event, table, key of Redis, metric or error', async () => {
      const places = await driveSecrets(settings);
      if (store === 'Redis') expect(places['redis']).toContain('rate:');
    });
  });
});

/** @returns everything that was searched, by place */
const driveSecrets = async (
  settings: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> => {
  let log = '';
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      log += chunk.toString();
      done();
    },
  });
  let isAway = false;
  const service = await startRunningService(settings, pino({ level: 'trace' }, sink), {
    store: (store) => ({
      ...store,
      append: (...appended) =>
        isAway ? Promise.reject(new EventStoreUnavailableError('away')) : store.append(...appended),
    }),
  });
  const secrets = new Set<string>();
  const answers: string[] = [];
  const mark = (key: string): string => {
    secrets.add(key.slice(-SECRET_CHARS));
    return key;
  };
  const apiWith = (key: string): Api => apiOf(service.baseUrl, { Authorization: `Bearer ${mark(key)}` });
  const use = async (api: Api): Promise<void> => {
    for (const headers of [{}, { 'Idempotency-Key': 'canary-idempotency-key' }]) {
      answers.push((await api.get('/advertisers', headers)).text);
      answers.push((await api.get('/api-keys?take=0', headers)).text);
      answers.push((await api.post('/api-keys', { name: '' }, headers)).text);
      answers.push((await api.delete('/api-keys/unknown', headers)).text);
    }
  };
  const issue = async (api: Api, body: object, headers = {}): Promise<string> => {
    const answer = await api.post<NewKey>('/api-keys', body, headers);
    const { key } = answer.body.data;
    mark(key);
    answers.push(answer.text.replace(key, ''));
    return key;
  };

  const { apiKey, customerId } = await service.openAccount('Canary');
  const api = apiWith(apiKey);
  await use(api);
  const headers = { 'Idempotency-Key': 'issued-once-and-repeated' };
  const first = await issue(api, { name: 'Keyed' }, headers);
  expect(await issue(api, { name: 'Keyed' }, headers)).toBe(first);
  await use(apiWith(first));
  answers.push((await apiWith(first).post('/api-keys', { name: 'Keyed' }, headers)).text);
  answers.push((await api.post('/api-keys', { name: 'Another' }, headers)).text);
  const second = await issue(api, { name: 'Unkeyed', scopes: ['exchange:read'] });
  await use(apiWith(second));
  answers.push((await api.delete(`/api-keys/${second.split('_')[1]}`)).text);
  await use(apiWith(second));

  // Keys that never verified are secrets all the same: often they are mistyped ones.
  for (const wrong of [`${first.slice(0, -2)}zz`, first.slice(3), `bx_${'x'.repeat(16)}_${'y'.repeat(43)}`]) {
    await use(apiWith(wrong));
  }
  await driveEngineKeys(api, mark, answers);
  isAway = true;
  await driveEngineKeys(api, mark, answers);
  answers.push(
    (await api.post('/api-keys', { name: 'Lost' }, { 'Idempotency-Key': 'lost-in-an-outage' })).text,
  );
  answers.push((await api.delete(`/api-keys/${first.split('_')[1]}`)).text);
  isAway = false;
  await service.pool.query('alter table api_keys rename to api_keys_away');
  await use(api);
  await service.pool.query('alter table api_keys_away rename to api_keys');
  await service.pool.query('alter table secrets rename to secrets_away');
  await driveEngineKeys(api, mark, answers);
  await service.pool.query('alter table secrets_away rename to secrets');
  await service.pool.query('alter table api_keys rename column masked_key to masked_away');
  answers.push((await api.get('/api-keys')).text, (await api.post('/api-keys', { name: 'Broken' })).text);
  await service.pool.query('alter table api_keys rename column masked_away to masked_key');

  const userId = await createUser(service.backbone, customerId, { name: 'Mo', role: 'member' });
  const operators = await createKey(service.backbone, customerId, { name: 'Operator', userId });
  await use(apiWith(operators.key));
  await setAccess(service.backbone, customerId, 'disabled');
  await use(api);
  answers.push(await (await fetch(`${service.baseUrl}/metrics`)).text());
  await service.end();
  const redis = settings['REDIS_URL'] === undefined ? {} : { redis: await redisOf(testRedis.url) };

  const places: Record<string, string> = {
    log,
    answers: answers.join('\n'),
    redis: (await service.redis?.entries())?.join('\n') ?? '',
    recorded: JSON.stringify(await service.readLog()),
    ...(await tablesOf(service.databaseUrl)),
    ...redis,
  };
  const found = Object.entries(places).flatMap(([place, text]) =>
    [...secrets].flatMap((secret) =>
      formsOf(secret).some((form) => text.includes(form)) ? [`${place}: ${secret.slice(-4)}`] : [],
    ),
  );
  console.log(
    `${secrets.size} secrets, ${Object.keys(places).length} places, ${log.length} characters of log`,
  );
  expect(found).toEqual([]);
  expect(log).toContain('not available');
  expect(places['recorded']).toContain('ApiKeyIssued');
  await service.stop();
  return places;
};

/** Keys for engines: taken, refused, badly made, repeated, replaced, and in places where none belongs. */
const driveEngineKeys = async (api: Api, mark: (key: string) => string, answers: string[]): Promise<void> => {
  const path = '/creative-engines/1/connections';
  const newKey = (start: string): string => mark(start + randomBytes(32).toString('base64url'));
  const key = newKey('sbx_');
  const repeated = { 'Idempotency-Key': 'engine-connected-once' };
  const bodies = [
    { apiKey: key },
    { apiKey: newKey('sbx_') },
    { apiKey: newKey('refused_') },
    { apiKey: `${newKey('sbx_')} x` },
    { apiKey: [newKey('sbx_')] },
    { apiKey: key, connectionId: newKey('con_') },
    { apiKey: key, connectionId: { [newKey('')]: key } },
  ];
  for (const body of bodies) {
    for (const headers of [{}, repeated]) answers.push((await api.post(path, body, headers)).text);
  }
  answers.push((await api.post(path, `{"apiKey":"${newKey('sbx_')}`)).text);
  answers.push((await api.post('/creative-engines/9/connections', { apiKey: key })).text);
  const live = (await api.get<{ id: string }[]>(path)).body.data?.[0];
  answers.push((await api.get(path)).text, (await api.delete(`${path}/${live?.id}`)).text);
};

/** Every key below the prefix with its value, as Redis keeps it and as text. */
const redisOf = async (url: string): Promise<string> => {
  const redis = new Redis(url);
  const lines: string[] = [];
  try {
    for await (const keys of redis.scanStream({ match: `${testRedis.keyPrefix}*`, count: 1_000 })) {
      for (const key of keys as string[]) {
        const type = await redis.type(key);
        const value =
          type === 'string' ? await redis.get(key) : (await redis.dumpBuffer(key))?.toString('latin1');
        lines.push(`${key} ${type} ${value ?? ''}`);
      }
    }
  } finally {
    redis.disconnect();
  }
  return lines.join('\n');
};

/** All rows of all tables, as text. */
const tablesOf = async (connectionString: string): Promise<Record<string, string>> => {
  const client = new Client({ connectionString, options: '-c app.access=system' });
  await client.connect();
  const { rows: tables } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  );
  const texts: Record<string, string> = {};
  for (const { name } of tables) {
    const { rows } = await client.query<{ all: string | null }>(
      `select string_agg(t::text, E'\\n') as all from ${name} t`,
    );
    texts[name] = rows[0]?.all ?? '';
  }
  await client.end();
  return texts;
};
