import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createAccount, startService, type ServiceProcess } from '../bench/service-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { amount } from '../support/amount.ts';

/**
 * Two processes on one database, several accounts, writes and reads at random on either of them: no read may
 * show less than what was answered as done before the read began, whatever is in whose memory.
 */

const ACCOUNTS = 2;
const ADVERTISERS = 3;
const READERS = 4;
const READS_MIN = amount(400, 4_000);

let database: TestDatabase;
let services: readonly ServiceProcess[];
beforeAll(async () => {
  database = await createTestDatabase();
  const environment = { DATABASE_URL: database.url, NODE_ENV: 'test' };
  services = await Promise.all([startService(environment), startService(environment)]);
}, 30_000);
afterAll(async () => {
  await Promise.all(services.map((service) => service.kill()));
  await database.drop();
});

/** Of an advertiser: how many of its changes were answered as done; undefined while it is not. */
type Done = Map<number, number>;
interface Advertiser {
  readonly id: number;
  readonly status: string;
  readonly description?: string;
}

const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)] as T;

const call = async <T>(apiKey: string, method: string, path: string, body?: unknown): Promise<T> => {
  const answer = await fetch(`http://127.0.0.1:${pick(services).port}/api/v2/buyer/advertisers${path}`, {
    method,
    headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // "Not yet" is no stale answer; on a crowded machine a projector may need longer than a read waits.
  if (answer.status === 503 && method === 'GET') return call(apiKey, method, path);
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (answer.status === 204 ? undefined : await answer.json()) as T;
};

const countOf = ({ description = '0' }: Advertiser): number => Number(description);

const account = async (state: { reads: number; stale: string[] }): Promise<void> => {
  const { apiKey } = await createAccount({ DATABASE_URL: database.url, NODE_ENV: 'test' });
  const done: Done = new Map();
  const isRunning = (): boolean => state.reads < READS_MIN;
  const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, Math.random() * 80));

  const writer = async (): Promise<void> => {
    const name = `Advertiser ${Math.random()}`;
    const created = await call<{ data: Advertiser }>(apiKey, 'POST', '', { name });
    const { id } = created.data;
    for (let count = 0; isRunning(); count += 1) {
      done.set(id, count);
      await pause();
      if (Math.random() < 0.05) {
        await call(apiKey, 'DELETE', `/${id}`);
        await call(apiKey, 'POST', `/${id}/restore`);
      }
      await call(apiKey, 'PUT', `/${id}`, { description: String(count + 1) });
    }
  };
  const check = (what: string, before: Done, found: readonly Advertiser[], ids: Iterable<number>): void => {
    state.reads += 1;
    for (const id of ids) {
      const one = found.find((advertiser) => advertiser.id === id);
      const expected = before.get(id) ?? 0;
      if (one === undefined || countOf(one) < expected) {
        state.stale.push(`${what}: ${id} at ${one && countOf(one)}, was ${expected}`);
      }
    }
  };
  const reader = async (): Promise<void> => {
    while (isRunning()) {
      const before: Done = new Map(done);
      const id = pick([...before.keys()]);
      if (id === undefined) await pause();
      else if (Math.random() < 0.5) {
        check('detail', before, [(await call<{ data: Advertiser }>(apiKey, 'GET', `/${id}`)).data], [id]);
      } else {
        const query = pick(['?status=ALL', '?status=ALL&take=100', '?name=advertiser&status=ALL']);
        check('list', before, (await call<{ data: Advertiser[] }>(apiKey, 'GET', query)).data, before.keys());
      }
    }
  };
  await Promise.all([
    ...Array.from({ length: ADVERTISERS }, writer),
    ...Array.from({ length: READERS }, reader),
  ]);
};

const readyAnswers = async ({ port }: ServiceProcess): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/read_answers_total\{from="memory"\} (\d+)/.exec(text)?.[1]);
};

it(`shows nothing old in ${READS_MIN} reads while both processes write`, async () => {
  const state = { reads: 0, stale: [] as string[] };
  await Promise.all(Array.from({ length: ACCOUNTS }, () => account(state)));
  expect(state.stale).toEqual([]);
  expect(state.reads).toBeGreaterThanOrEqual(READS_MIN);
  // Otherwise nothing was tried.
  for (const service of services) expect(await readyAnswers(service)).toBeGreaterThan(0);
}, 180_000);
