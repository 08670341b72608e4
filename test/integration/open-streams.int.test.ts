import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createOpenStreams, type StreamLease } from '../../shared/limits/open-streams.ts';
import { useReadModelDatabase } from '../support/read-model-database.ts';
import { amount } from '../support/amount.ts';
import { until } from '../support/until.ts';

const database = useReadModelDatabase();
const log = pino({ level: 'silent' });

const nodes: ReturnType<typeof createOpenStreams>[] = [];
const startNode = (pool: Parameters<typeof createOpenStreams>[0] = database.pool) => {
  const node = createOpenStreams(pool, log);
  nodes.push(node);
  return node;
};
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
  expect(await leases()).toBe(0);
});

let users = 0;
const newUser = () => ({ customerId: 7, userId: `7-${(users += 1)}` });
const ignore = (): void => undefined;
const leases = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(*)::int as count from realtime_leases',
  );
  return rows[0]?.count ?? 0;
};
const isOpen = (lease: StreamLease | undefined): lease is StreamLease => lease !== undefined;
/** Time passes for all processes that have stopped to renew. */
const expire = () => database.pool.query(`update realtime_nodes set expires_at = clock_timestamp()`);

it(`exactly ten streams of a user are open, over all processes, under any race (${amount(20, 500)} times)`, async () => {
  const processes = [startNode(), startNode(), startNode()];
  for (let round = 0; round < amount(20, 500); round += 1) {
    const [one, other] = [newUser(), newUser()];
    const asked = Array.from({ length: 12 }, () => processes).flatMap((three, turn) =>
      three.map((node, n) => node.take((turn + n) % 2 === 0 ? one : other, ignore)),
    );
    const open = (await Promise.all(asked)).filter(isOpen);
    expect(open.length).toBe(20);
    open[3]?.release();
    await until(async () => (await leases()) === 19);
    const again = await Promise.all(
      processes.flatMap((node) => [node.take(one, ignore), node.take(other, ignore)]),
    );
    expect(again.filter(isOpen).length).toBe(1);
    for (const lease of [...open, ...again.filter(isOpen)]) lease.release();
    await until(async () => (await leases()) === 0);
  }
}, 600_000);

it('the streams of a killed process stop counting when its leases end', async () => {
  const [killed, alive] = [startNode(), startNode()];
  const user = newUser();
  for (let n = 0; n < 10; n += 1) await killed.take(user, ignore);
  expect(await alive.take(user, ignore)).toBeUndefined();
  const { rows } = await database.pool.query<{ seconds: number }>(
    'select extract(epoch from max(expires_at) - clock_timestamp())::float8 as seconds from realtime_nodes',
  );
  expect(rows[0]?.seconds).toBeGreaterThan(40);
  expect(rows[0]?.seconds).toBeLessThanOrEqual(45);
  await expire();
  const later = startNode();
  const open = await Promise.all(Array.from({ length: 12 }, () => later.take(user, ignore)));
  expect(open.filter(isOpen).length).toBe(10);
});

it('a process that was cut off for too long learns which of its streams lost their place', async () => {
  const [slow, other] = [startNode(), startNode()];
  const user = newUser();
  const lost: number[] = [];
  for (let n = 0; n < 10; n += 1) await slow.take(user, () => lost.push(n));
  await expire();
  // The other process renews only itself.
  const taken = await startNode().take(user, ignore);
  expect(isOpen(taken)).toBe(true);
  await other.close();
  await delay(0);
  await slow.renew();
  expect(lost.length).toBe(1);
  await slow.renew();
  expect(await other.take(user, ignore)).toBeUndefined();
});

it('a place is freed later when the database does not answer just then; a take without an answer, too', async () => {
  let fails = 0;
  const pool: Parameters<typeof createOpenStreams>[0] = {
    query: (async (question: { name: string; text: string; values: unknown[] }) => {
      const fail = fails > 0 && question.name !== 'realtime-renew';
      if (question.name === 'realtime-take' || !fail) {
        const answer = await database.pool.query(question);
        if (!fail) return answer;
      }
      fails -= 1;
      throw new Error('the connection broke');
    }) as never,
  };
  const node = startNode(pool);
  const [user, second] = [newUser(), newUser()];
  const lease = await node.take(user, ignore);
  fails = 1;
  lease?.release();
  await until(async () => fails === 0);
  fails = 1;
  await expect(node.take(second, ignore)).rejects.toThrow('broke');
  expect(await leases()).toBe(2);
  await node.renew();
  expect(await leases()).toBe(0);
});

it('keeping a thousand streams takes one statement', async () => {
  const asked: string[] = [];
  const pool: Parameters<typeof createOpenStreams>[0] = {
    query: (async (question: { name: string }) => {
      asked.push(question.name);
      return database.pool.query(question as never);
    }) as never,
  };
  const node = startNode(pool);
  for (let user = 0; user < 100; user += 1) {
    const holder = newUser();
    await Promise.all(Array.from({ length: 10 }, () => node.take(holder, ignore)));
  }
  asked.length = 0;
  await node.renew();
  expect(asked).toEqual(['realtime-renew']);
});
