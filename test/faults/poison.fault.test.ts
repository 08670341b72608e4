import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createAdvertiser } from '../../command/advertisers/commands.ts';
import { advertiserAggregate, advertiserStream } from '../../domain/advertisers/advertiser.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import { untilDefinite } from '../support/api-client.ts';
import { exchange } from '../support/program.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { until } from '../support/until.ts';

const EVENTS = 10_000;
const LAG_MS_MAX = 15_000;
const FIRST_ID = 1_000_000;
const BAD_NAME = 'cannot become a row';

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const write = (advertiserId: number): Promise<unknown> => {
  const { customerId } = account;
  const commandId = randomUUID();
  const origin = { commandId, now: '2026-01-01T00:00:00.000Z' };
  return executeCommand(service.store, advertiserAggregate, {
    stream: advertiserStream(customerId, advertiserId),
    command: createAdvertiser({ name: `Advertiser ${advertiserId}` }, { advertiserId, customerId }, origin),
    context: { commandId, customerId, actor: 'test', requestId: 'poison' },
    isNew: true,
  });
};

/** Concurrent creations, few enough that none times out on a busy machine. */
const AT_ONCE = 500;

const writeMany = async (from: number, count: number): Promise<void> => {
  for (let n = from; n < from + count; n += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, offset) => write(n + offset)));
  }
};

const ready = async () => {
  const answer = await fetch(`${service.operatorUrl}/ready`);
  return { status: answer.status, text: await answer.text() };
};

it('one bad event among 10,000: its stream is parked and reported, all others are served, an operator un-parks it', async () => {
  const { api, customerId } = account;
  const victim = (await api.post<{ id: number }>('/advertisers', { name: 'Victim' })).body.data;
  await service.pool.query(`alter table advertisers add constraint bad check (name <> '${BAD_NAME}')`);

  await writeMany(FIRST_ID, EVENTS / 2);
  const poison = await api.put(`/advertisers/${victim.id}`, { name: BAD_NAME });
  expect(poison.status).toBe(200);
  await writeMany(FIRST_ID + EVENTS / 2, EVENTS / 2);
  const count = async (): Promise<number> =>
    (await untilDefinite(() => api.get('/advertisers?take=1'))).body.meta.pagination.total;
  const lagMs = await until(async () => (await count()) === EVENTS + 1, 120_000);
  expect(lagMs).toBeLessThan(LAG_MS_MAX);

  await until(async () => (await ready()).text.includes('"degraded":true'), 120_000);
  const { status, text } = await ready();
  expect(status).toBe(200);
  expect(text).toContain(advertiserStream(customerId, victim.id));
  expect(text).toContain('"lagEvents":0');
  const metrics = await service.metrics();
  expect(metrics).toContain('exchange_projection_parked_streams{projection="advertisers"} 1');
  // The parked advertiser is read from its stream: never the old value.
  expect((await api.get<{ name: string }>(`/advertisers/${victim.id}`)).body.data.name).toBe(BAD_NAME);

  const environment = service.stores;
  const listed = await exchange(['parked', 'list', '--json'], environment);
  expect(listed.stdout).toContain(advertiserStream(customerId, victim.id));

  await service.pool.query('alter table advertisers drop constraint bad');
  const retried = await exchange(
    ['parked', 'retry', 'advertisers', advertiserStream(customerId, victim.id)],
    environment,
  );
  expect([retried.status, retried.stderr]).toEqual([0, '']);
  await until(async () => (await ready()).text.includes('"degraded":false'), 120_000);
  const { rows } = await service.pool.query('select name from advertisers where id = $1', [victim.id]);
  expect(rows).toEqual([{ name: BAD_NAME }]);
  console.log(`one bad event among ${EVENTS + 2}: all others listed ${lagMs.toFixed(0)} ms after the last`);
}, 120_000);
