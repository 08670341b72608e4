import { Writable } from 'node:stream';
import { format } from 'node:util';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import type { ApiKeyResource } from '../../domain/accounts/resource.ts';
import { createKey, createUser, setAccess } from '../../cli/operate-accounts.ts';
import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import { apiOf, type Api } from '../support/api-client.ts';
import { newSecret, secretIn, textOfAnswer, type CanaryRun } from '../support/canary/canary-run.ts';
import { driveAgents } from '../support/canary/drive-agents.ts';
import { drivePeople } from '../support/canary/drive-people.ts';
import { driveWebhooks } from '../support/canary/drive-webhooks.ts';
import { driveSellers } from '../support/canary/drive-sellers.ts';
import { driveUploads } from '../support/canary/drive-uploads.ts';
import {
  collectTexts,
  filesOf,
  foundIn,
  tablesOf,
  type SearchedTexts,
} from '../support/canary/searched-texts.ts';
import { startMailServer } from '../support/mail-server.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';
import { describeWithRedis } from '../support/describe-with-redis.ts';
import { createTestRedis } from '../support/test-redis.ts';

/**
 * Sends secrets through every flow that handles one, including failures. Then searches all outputs for them: each
 * may appear in the one answer that shows it, and nowhere else.
 */

type NewKey = ApiKeyResource & { readonly key: string };

const testRedis = createTestRedis();
const inRedis = { REDIS_URL: testRedis.url, REDIS_KEY_PREFIX: testRedis.keyPrefix };
const stores = [
  ['Postgres', describe, {}],
  ['Redis', await describeWithRedis(), inRedis],
] as const;
afterAll(() => testRedis.clear());

/** Captured before imports: the agents' client keeps the console functions that it finds when it is loaded. */
const printed: string[] = [];
const say = console.log.bind(console);
for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const) {
  jest.spyOn(console, level).mockImplementation((...said: unknown[]) => void printed.push(format(...said)));
}

describe.each(stores)('with counters and jobs in %s', (store, describeStore, settings) => {
  describeStore('secrets', () => {
    it('no secret appears in a log, event, table, job, Redis key, file, metric or error', async () => {
      const { service, drive } = await prepared(settings);
      let places: SearchedTexts;
      try {
        places = await drive();
      } finally {
        await service.stop();
      }
      // Jobs existed while the agents failed.
      const isInRedis = store === 'Redis' || (process.env['REDIS_URL'] ?? '') !== '';
      const jobs = isInRedis ? 'redis' : 'bullmq.job';
      expect([jobs, places[jobs]?.includes('syndication')]).toEqual([jobs, true]);
      if (isInRedis) expect(places['redis']?.includes('rate:')).toBe(true);
    }, 400_000);
  });
});

interface CanaryRunSetup {
  readonly service: RunningService;
  /** @returns every searched text, by where it was found */
  drive(): Promise<SearchedTexts>;
}

const prepared = async (settings: Readonly<Record<string, string>>): Promise<CanaryRunSetup> => {
  let log = '';
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      log += chunk.toString();
      done();
    },
  });
  let isAway = false;
  const agentsAllowed = { OUTBOUND_ALLOW_LOOPBACK: 'true', AGENT_CHECK_MS: '1500' };
  // The outbox would contain links in clear, as a person's mailbox does.
  const mails = await startMailServer();
  const mailed = { SMTP_URL: `smtp://127.0.0.1:${mails.port}`, MAIL_FROM: 'no-reply@exchange.example' };
  const service = await startRunningService(
    { ...agentsAllowed, ...mailed, ...settings },
    pino({ level: 'trace' }, sink),
    {
      store: (store) => ({
        ...store,
        append: (...appended) =>
          isAway ? Promise.reject(new EventStoreUnavailableError('away')) : store.append(...appended),
      }),
    },
  );
  const secrets = new Set<string>();
  const answers: string[] = [];
  const collected = collectTexts();
  const track = (key: string): string => {
    secrets.add(secretIn(key));
    return key;
  };
  const searchStores = async (): Promise<void> => {
    const keys = [...(await testRedis.entries()), ...((await service.redis?.entries()) ?? [])];
    collected.add({
      ...(await tablesOf(service.databaseUrl)),
      ...(await filesOf(service.dataDir)),
      redis: keys.join('\n'),
    });
  };
  const withFailingStore = async (run: () => Promise<void>): Promise<void> => {
    isAway = true;
    await run();
    isAway = false;
  };
  const withoutTable = async (table: string, run: () => Promise<void>): Promise<void> => {
    await service.pool.query(`alter table ${table} rename to ${table}_away`);
    await run();
    await service.pool.query(`alter table ${table}_away rename to ${table}`);
  };
  const recordAnswer = (text: string, shown?: string): void =>
    void answers.push(shown === undefined ? text : text.replace(shown, ''));
  const run: CanaryRun = { service, track, recordAnswer, searchStores, withFailingStore, withoutTable };
  const apiWith = (key: string): Api => apiOf(service.baseUrl, { Authorization: `Bearer ${track(key)}` });
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
    track(key);
    answers.push(answer.text.replace(key, ''));
    return key;
  };

  const drive = async (): Promise<SearchedTexts> => {
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

    // Invalid keys are secrets, too: often they are mistyped real ones.
    for (const wrong of [
      `${first.slice(0, -2)}zz`,
      first.slice(3),
      `bx_${'x'.repeat(16)}_${'y'.repeat(43)}`,
    ]) {
      await use(apiWith(wrong));
    }
    await driveEngineKeys(api, track, answers);
    const account = { customerId, apiKey, api };
    await driveUploads(run, account);
    await driveAgents(run, account);
    await driveSellers(run, account);
    await driveWebhooks(run, account);
    await drivePeople(run, mails);
    await withFailingStore(async () => {
      await driveEngineKeys(api, track, answers);
      const lost = { 'Idempotency-Key': 'lost-in-an-outage' };
      recordAnswer((await api.post('/api-keys', { name: 'Lost' }, lost)).text);
      recordAnswer((await api.delete(`/api-keys/${first.split('_')[1]}`)).text);
    });
    await withoutTable('api_keys', () => use(api));
    await withoutTable('secrets', () => driveEngineKeys(api, track, answers));
    await service.pool.query('alter table api_keys rename column masked_key to masked_away');
    answers.push((await api.get('/api-keys')).text, (await api.post('/api-keys', { name: 'Broken' })).text);
    await service.pool.query('alter table api_keys rename column masked_away to masked_key');

    const userId = await createUser(service.installation, customerId, { name: 'Mo', role: 'member' });
    const operators = await createKey(service.installation, customerId, { name: 'Operator', userId });
    await use(apiWith(operators.key));
    await setAccess(service.installation, customerId, 'disabled');
    await use(api);
    for (const path of ['/ready', '/openapi.json']) {
      answers.push(await textOfAnswer(await fetch(service.baseUrl + path)));
    }
    answers.push(await service.metrics());
    await service.end();
    await mails.stop();
    await searchStores();
    collected.add({
      log,
      printed: printed.join('\n'),
      answers: answers.join('\n'),
      recorded: JSON.stringify(await service.readLog()),
    });
    const { places } = collected;
    say(`${secrets.size} secrets, ${Object.keys(places).length} places, ${log.length} characters of log`);
    expect(foundIn(places, secrets)).toEqual([]);
    expect(log).toContain('not available');
    for (const type of [
      'ApiKeyIssued',
      'AssetUploaded',
      'AgentRegistered',
      'SyndicationFailed',
      'WebhookSecretRotated',
      'OAuthClientAuthorized',
    ]) {
      expect([type, places['recorded']?.includes(type)]).toEqual([type, true]);
    }
    return places;
  };
  return { service, drive };
};

/**
 * Sends engine keys in every way: accepted, refused, malformed, repeated, replaced, and in places that expect
 * none.
 */
const driveEngineKeys = async (
  api: Api,
  track: (key: string) => string,
  answers: string[],
): Promise<void> => {
  const path = '/creative-engines/1/connections';
  const newKey = (start: string): string => track(newSecret(start));
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
