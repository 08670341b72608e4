import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Installation } from '../../app/installation.ts';
import type { ApiKeyResource } from '../../domain/accounts/resource.ts';
import { createAccount } from '../../app/create-account.ts';
import { readConfig } from '../../app/config.ts';
import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
} from '../../shared/event-store/event-store.ts';
import { createLog } from '../../app/log.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { apiOf, refusalOf, untilDefinite, type Api } from '../support/api-client.ts';
import { startRunningService } from '../support/running-service.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';
import { amount } from '../support/amount.ts';

/** For each of 20 accounts. */
const PAIRS = amount(10, 50);

/** Credentials in two processes, and during failures. */

type NewKey = ApiKeyResource & { readonly key: string };

describe('two processes', () => {
  let database: TestDatabase;
  let installation: Installation;
  let supervisor: Supervisor;
  beforeAll(async () => {
    database = await createTestDatabase();
    installation = await openWithLongTimeouts(readConfig({ DATABASE_URL: database.url }), 'faults');
    await installation.migrate();
    supervisor = await startSupervisor(2, { DATABASE_URL: database.url });
    await supervisor.ready();
  });
  afterAll(async () => {
    await supervisor.stop();
    await installation.close();
    await database.drop();
  });

  const node = (index: number, key: string): Api =>
    apiOf(`http://127.0.0.1:${supervisor.ports[index]}`, { Authorization: `Bearer ${key}` });

  it('a key revoked in one process is refused by the other on its next request, hundreds of times', async () => {
    const accounts = await Promise.all(
      Array.from({ length: 20 }, (_, n) => createAccount(installation, `R${n}`)),
    );
    let accepted = 0;
    let pairs = 0;
    await Promise.all(
      accounts.map(async ({ apiKey }) => {
        for (let n = 0; n < PAIRS; n++) {
          const [here, there] = n % 2 === 0 ? [0, 1] : [1, 0];
          const own = node(here, apiKey);
          const headers = { 'Idempotency-Key': randomUUID() };
          const issued = await untilDefinite(() => own.post<NewKey>('/api-keys', { name: `k${n}` }, headers));
          const { id, key } = issued.body.data;
          const used = (index: number) => untilDefinite(() => node(index, key).get('/advertisers'));
          expect((await used(there)).status).toBe(200);
          const revoking = { 'Idempotency-Key': randomUUID() };
          expect((await untilDefinite(() => own.delete(`/api-keys/${id}`, revoking))).status).toBe(204);
          const answers = await Promise.all([used(there), used(here)]);
          accepted += answers.filter(({ status }) => status !== 401).length;
          pairs += 1;
        }
      }),
    );
    console.log(`${pairs} revocations, each key then used in both processes: ${accepted} accepted`);
    expect([pairs, accepted]).toEqual([20 * PAIRS, 0]);
  }, 120_000);

  it('of 200 concurrent requests to both, exactly as many succeed as the limit allows', async () => {
    const { apiKey, customerId } = await createAccount(installation, 'Limit');
    const issue = async (n: number): Promise<readonly [number, unknown]> => {
      // Repeats with one idempotency key, so that at most one API key is created.
      const headers = { 'Idempotency-Key': randomUUID() };
      const answer = await untilDefinite(() =>
        node(n % 2, apiKey).post<NewKey>('/api-keys', { name: `k${n}` }, headers),
      );
      return [answer.status, answer.body.error?.details];
    };
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => issue(n)));
    const refused = answers.filter(([status]) => status === 409);
    expect(answers.filter(([status]) => status === 201)).toHaveLength(99);
    expect(refused).toHaveLength(101);
    expect(new Set(refused.map(([, details]) => JSON.stringify(details)))).toEqual(
      new Set(['{"limit":100,"active":100}']),
    );
    const list = await untilDefinite(() => node(0, apiKey).get<ApiKeyResource[]>('/api-keys?take=200'));
    expect(list.body.data.filter(({ status }) => status === 'ACTIVE')).toHaveLength(100);
    const { rows } = await installation.pool.query<{ count: number }>(
      'select count(*)::int as count from events where stream = $1 and type = $2',
      [`account-${customerId}`, 'ApiKeyIssued'],
    );
    expect(rows[0]?.count).toBe(100);
    console.log(
      `200 keys requested concurrently in addition to 1: ${refused.length} refused, ${rows[0]?.count} in the stream`,
    );

    const last = list.body.data[0]?.id ?? '';
    expect((await node(1, apiKey).delete(`/api-keys/${last}`)).status).toBe(204);
    expect((await issue(0))[0]).toBe(201);
    expect((await issue(1))[0]).toBe(409);
  });
});

describe('a store that fails between two writes', () => {
  it('revoking: the key is refused immediately, and the limit is counted again', async () => {
    let isAway = false;
    const service = await startRunningService({}, createLog('silent'), {
      store: (store) => ({
        ...store,
        append: (stream, events, expected) =>
          isAway && events.some(({ type }) => type === 'ApiKeyRevoked')
            ? Promise.reject(new EventStoreUnavailableError('away'))
            : store.append(stream, events, expected),
      }),
    });
    const { api } = await service.openAccount();
    const issued: NewKey[] = [];
    for (let n = 0; n < 99; n++) {
      issued.push((await api.post<NewKey>('/api-keys', { name: `k${n}` })).body.data);
    }
    expect((await api.post('/api-keys', { name: 'one too many' })).status).toBe(409);
    const [{ id, key } = { id: '', key: '' }] = issued;
    isAway = true;
    expect((await api.delete(`/api-keys/${id}`)).status).toBe(503);
    const used = apiOf(service.baseUrl, { Authorization: `Bearer ${key}` });
    expect(refusalOf(await used.get('/advertisers'))).toEqual([401, 'UNAUTHORIZED', undefined]);
    isAway = false;
    expect((await api.post('/api-keys', { name: 'there is room' })).status).toBe(201);
    expect((await api.post('/api-keys', { name: 'one too many' })).status).toBe(409);
    await service.stop();
  });

  it('creating: the repeated request returns the same key, which works', async () => {
    let isLost = true;
    const service = await startRunningService({}, createLog('silent'), {
      store: (store) => ({
        ...store,
        append: async (stream, events, expected) => {
          const result = await store.append(stream, events, expected);
          const isFirst = isLost && events.length === 1 && events[0]?.type === 'ApiKeyIssued';
          if (isFirst) isLost = false;
          if (isFirst) throw new AppendOutcomeUnknownError('the reply was lost');
          return result;
        },
      }),
    });
    const { api, customerId } = await service.openAccount();
    const headers = { 'Idempotency-Key': 'issued-in-spite-of-all' };
    expect((await api.post('/api-keys', { name: 'Lost' }, headers)).status).toBe(503);
    const again = await api.post<NewKey>('/api-keys', { name: 'Lost' }, headers);
    expect(again.status).toBe(201);
    const { id, key } = again.body.data;
    const issued = apiOf(service.baseUrl, { Authorization: `Bearer ${key}` });
    expect((await issued.get('/advertisers')).status).toBe(200);
    const list = await api.get<ApiKeyResource[]>('/api-keys');
    expect(list.body.data.map((one) => one.id)).toContain(id);
    expect(list.body.data).toHaveLength(2);
    const { key: _, ...listed } = again.body.data;
    const { lastUsedAt: _used, ...first } = list.body.data[0] ?? {};
    expect(first).toEqual(listed);
    const events = await service.eventsOf(`account-${customerId}`);
    expect(events.map(({ type }) => type)).toEqual(['AccountOpened', 'ApiKeyIssued', 'ApiKeyIssued']);
    await service.stop();
  });
});
