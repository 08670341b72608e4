import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AdvertiserResource } from '../../domain/advertisers/resource.ts';
import type { AgentResource } from '../../domain/agents/resource.ts';
import type { SyndicationResource } from '../../domain/syndication/resource.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { apiOf, type Api, type ApiAnswer } from '../support/api-client.ts';
import { generousLimits } from '../support/generous-limits.ts';
import { startProgram, type Program } from '../support/program.ts';
import { startSandboxAgent, type SandboxAgent } from '../support/sandbox-agent.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

/**
 * One client's whole conversation with the shipped program: it uses a key, syncs an audience of UID2 members,
 * syndicates it, and logs conversions with an invalid item. The program is stopped in the middle and restarted on
 * the same port. The client repeats unanswered requests and continues.
 */

const KEY = /bx_[A-Za-z0-9]{16}_[A-Za-z0-9_-]{43}/;
const SERVING = /serving at (http:\/\/127\.0\.0\.1:\d+)/;
const UID2 =
  'AgAAAQFt3aNLXKXEyWS8Tpezcymk1Acv3n+ClOHLdAgqR0kt0Y+pQWSOVaW0tsKZI4FOv9K/rZH9+c4lpm2DBpmFJqjdF6FAaA==';

let database: TestDatabase;
let agent: SandboxAgent;
beforeAll(async () => {
  [database, agent] = await Promise.all([createTestDatabase(), startSandboxAgent()]);
});
afterAll(async () => {
  await agent.stop();
  await database.drop();
});

/** @param port 0 for any free port */
const start = (port: string): Program =>
  startProgram({
    DATABASE_URL: database.url,
    PORT: port,
    LOG_LEVEL: 'info',
    OUTBOUND_ALLOW_LOOPBACK: 'true',
    SECRET_KEYS: `test:${'A'.repeat(43)}`,
    ...generousLimits,
  });

const REPEATS_MAX = 300;

/** Repeats a request with its idempotency key until the service returns its result. */
const answered = async <Data>(send: () => Promise<ApiAnswer<Data>>): Promise<ApiAnswer<Data>> => {
  for (let repeats = 0; repeats < REPEATS_MAX; repeats += 1) {
    // fetch rejects without a connection, or when it ends before the answer: the outcome is unknown.
    const answer = await send().catch(() => undefined);
    if (
      answer !== undefined &&
      answer.status !== 503 &&
      answer.body.error?.code !== 'IDEMPOTENCY_IN_FLIGHT'
    ) {
      return answer;
    }
    await sleep(50);
  }
  throw new Error(`no answer after ${REPEATS_MAX} requests`);
};

interface Task {
  readonly status: string;
  readonly response: unknown;
}

interface BatchResult {
  readonly accepted: number;
  readonly rejected: readonly { readonly index: number; readonly reason: string }[];
  readonly duplicates: number;
}

const BATCHES = 40;
const EVENTS_A_BATCH = 25;

/** @param n number of the batch; its item 3 has a value that no JSON number can hold */
const batch = (n: number): string => {
  const eventTime = new Date().toISOString();
  const items = Array.from({ length: EVENTS_A_BATCH }, (_, at) =>
    JSON.stringify({
      eventId: `order-${n}-${at}`,
      eventTime,
      eventType: 'purchase',
      value: at,
      currency: 'EUR',
    }),
  );
  items[3] = `{"eventId":"odd-${n}","eventTime":"${eventTime}","value":1e999}`;
  return `{"events":[${items.join(',')}]}`;
};

/** Logs all batches, two at a time. Reports the number of answers after each. */
const logConversions = async (api: Api, onAnswer: (answers: number) => void): Promise<BatchResult[]> => {
  const waiting = Array.from({ length: BATCHES }, (_, n) => n);
  const results: BatchResult[] = [];
  const client = async (): Promise<void> => {
    for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) {
      const [body, key] = [batch(n), `conversation-${randomUUID()}`];
      const answer = await answered(() =>
        api.post<BatchResult>('/event-sources/shop/events', body, { 'Idempotency-Key': key }),
      );
      expect(answer.status).toBe(200);
      results.push(answer.body.data);
      onAnswer(results.length);
    }
  };
  await Promise.all([client(), client()]);
  return results;
};

describe('a client that continues across a restart', () => {
  it('signs in, syncs UID2 members, syndicates, logs conversions; no write is lost or duplicated', async () => {
    const first = start('0');
    const [, baseUrl = ''] = await first.until(SERVING);
    const [key] = await first.until(KEY);
    const api = apiOf(baseUrl, { Authorization: `Bearer ${key}` });

    const created = await api.post<AdvertiserResource>('/advertisers', { name: 'Acme' });
    expect(created.status).toBe(201);
    const advertiser = String(created.body.data.id);
    const sources = { account: { account_id: advertiser }, event_sources: [{ event_source_id: 'shop' }] };
    expect((await api.post(`/advertisers/${advertiser}/event-sources/sync`, sources)).status).toBe(200);

    const synced = await api.post<{ taskId: string }>(`/advertisers/${advertiser}/audiences/sync`, {
      audiences: [
        {
          audienceId: 'customers',
          name: 'Customers',
          add: [
            { externalId: 'by-uid', uids: [{ type: 'uid2', value: UID2 }] },
            { externalId: 'by-address', hashedEmail: 'jane@example.com' },
          ],
        },
      ],
    });
    expect(synced.status).toBe(202);
    const task = async () =>
      (await api.get<{ task: Task }>(`/tasks/${synced.body.data.taskId}`)).body.data.task;
    await until(async () => (await task()).status === 'completed');
    const { response } = await task();
    expect(response).toEqual({
      audiences: [{ audienceId: 'customers', action: 'created', membersFailed: 1 }],
      failedMembers: [
        { audienceId: 'customers', list: 'add', index: 1, reason: expect.stringContaining('hashedEmail') },
      ],
    });
    expect(JSON.stringify(response)).not.toContain('jane@example.com');

    const registered = await api.post<AgentResource>('/adcp-agents', {
      name: 'Sandbox',
      url: agent.url,
      protocol: 'MCP',
      auth: { type: 'bearer', token: agent.token },
      accountId: 'acme',
    });
    expect(registered.status).toBe(201);
    const switchTo = (enabled: boolean) =>
      answered(() =>
        api.post<SyndicationResource[]>(
          `/advertisers/${advertiser}/syndicate`,
          {
            resourceType: 'AUDIENCE',
            resourceId: 'customers',
            adcpAgentIds: [registered.body.data.id],
            enabled,
          },
          { 'Idempotency-Key': `switch-${randomUUID()}` },
        ),
      );
    const record = async (): Promise<SyndicationResource | undefined> =>
      (
        await answered(() =>
          api.get<{ items: SyndicationResource[] }>(`/advertisers/${advertiser}/syndication-status`),
        )
      ).body.data.items[0];
    expect((await switchTo(true)).status).toBe(201);
    await until(async () => (await record())?.status === 'COMPLETED');
    expect(Object.keys((await agent.members('acme', 'customers')) ?? {})).toEqual(['by-uid']);

    let second: Program | undefined;
    let restart: Promise<number | null> | undefined;
    const results = await logConversions(api, (answers) => {
      if (answers !== BATCHES / 4) return;
      restart = first.end('SIGTERM').then((status) => {
        second = start(new URL(baseUrl).port);
        return status;
      });
    });
    expect(await restart).toBe(0);
    await second?.until(SERVING);

    expect(results).toHaveLength(BATCHES);
    for (const { accepted, duplicates, rejected } of results) {
      expect({ accepted, duplicates }).toEqual({ accepted: EVENTS_A_BATCH - 1, duplicates: 0 });
      expect(rejected.map(({ index }) => index)).toEqual([3]);
      expect(rejected[0]?.reason).toContain('value');
    }
    const summary = await answered(() =>
      api.get<{ totalEventCount: number }>(`/advertisers/${advertiser}/events/summary`),
    );
    expect(summary.body.data.totalEventCount).toBe(BATCHES * (EVENTS_A_BATCH - 1));

    expect((await record())?.status).toBe('COMPLETED');
    expect((await switchTo(false)).body.data[0]?.status).toBe('DISABLED');
    await until(async () => (await agent.members('acme', 'customers')) === undefined);
    expect(await second?.end('SIGTERM')).toBe(0);
  });
});
