import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Installation } from '../../app/installation.ts';
import { createAccount } from '../../app/create-account.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { readConfig } from '../../app/config.ts';
import { START } from '../../shared/event-store/event-store.ts';
import { openWithLongTimeouts } from '../support/open-with-long-timeouts.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { startSupervisor, type Supervisor } from './kit/supervisor.ts';

const KEYS = 200;
const CLIENTS = 50;

describe('one key, many clients, two processes', () => {
  let database: TestDatabase;
  let installation: Installation;
  let supervisor: Supervisor;
  let apiKey: string;
  beforeAll(async () => {
    database = await createTestDatabase();
    installation = await openWithLongTimeouts(readConfig({ DATABASE_URL: database.url }), 'faults');
    ({ apiKey } = await createAccount(installation, 'One effect'));
    supervisor = await startSupervisor(2, { DATABASE_URL: database.url });
    await supervisor.ready();
  });
  afterAll(async () => {
    await supervisor.stop();
    await installation.close();
    await database.drop();
  });

  const create = (port: number, key: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/api/v2/buyer/advertisers`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${apiKey}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': key,
      },
      body: JSON.stringify({ name: key }),
    });

  it(`${KEYS} keys, each sent by ${CLIENTS} clients concurrently, have one effect and one answer each`, async () => {
    const answers = new Map<string, Set<string>>();
    let inFlight = 0;
    const client = async (index: number): Promise<void> => {
      for (let n = 0; n < KEYS; n++) {
        const key = `one-effect-${String(n).padStart(8, '0')}`;
        for (;;) {
          const answer = await create(supervisor.ports[index % 2] ?? 0, key);
          const body = await answer.text();
          if (answer.status === 201) {
            answers.set(key, (answers.get(key) ?? new Set()).add(body));
            break;
          }
          // On a stalled machine, processes may exceed their own limits.
          if (answer.status !== 503) {
            expect([answer.status, body]).toEqual([409, expect.stringContaining('IDEMPOTENCY_IN_FLIGHT')]);
            expect(answer.headers.get('retry-after')).toBe('1');
          }
          inFlight++;
          await sleep(10);
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)));

    const created: string[] = [];
    let after = START;
    for (;;) {
      const page = await installation.store.readAll({ after, limit: 1_000 });
      created.push(
        ...page.filter(({ type }) => type === 'AdvertiserCreated').map(({ data }) => data['name'] as string),
      );
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.position;
    }
    expect(created.length).toBe(KEYS);
    expect(new Set(created).size).toBe(KEYS);
    expect([...answers.values()].filter((bodies) => bodies.size !== 1)).toEqual([]);
    console.log(`${KEYS * CLIENTS} requests, ${KEYS} effects, ${inFlight} answered IDEMPOTENCY_IN_FLIGHT`);
  }, 600_000);
});
