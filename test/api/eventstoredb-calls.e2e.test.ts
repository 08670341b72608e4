import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAdvertiser } from '../../command/advertisers/commands.ts';
import {
  advertiserAggregate,
  advertiserStream,
  type AdvertiserCommand,
} from '../../domain/advertisers/advertiser.ts';
import { sleep } from '../../shared/async/backoff.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import {
  startEventStoreService,
  type EventStoreService,
} from '../support/eventstoredb/event-store-service.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** The calls that the service makes to EventStoreDB, counted by the server. */

const CREATES = 1_000;
const CALLERS = 16;
const IDLE_MS = 12_000;
/** The end of the log is read after this idle time. */
const POLL_MS = 5_000;

let eventStore: EventStoreService;
let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  eventStore = await startEventStoreService();
  // Sealing is off: it reads the log every minute, with or without events.
  service = await startRunningService({ EVENTSTORE_URL: eventStore.url, LOG_SEAL_SECONDS: '0' });
  account = await service.openAccount();
  while ((await fetch(`${service.baseUrl}/ready`)).status !== 200) await sleep(25);
});
afterAll(async () => {
  await service.stop();
  await eventStore.close();
});

const callsOf = async (work: () => Promise<void>): Promise<Readonly<Record<string, number>>> => {
  const before = { ...eventStore.calls };
  await work();
  return Object.fromEntries(
    Object.entries(eventStore.calls)
      .map(([kind, count]) => [kind, count - before[kind as keyof typeof before]] as const)
      .filter(([, count]) => count > 0),
  );
};
const total = (calls: Readonly<Record<string, number>>): number =>
  Object.values(calls).reduce((sum, count) => sum + count, 0);

const create = async (name: string, key?: string): Promise<number> => {
  const headers = key === undefined ? {} : { 'Idempotency-Key': key };
  const answer = await account.api.post<{ id: number }>('/advertisers', { name }, headers);
  expect(answer.status).toBe(201);
  return answer.body.data.id;
};

describe('calls to EventStoreDB', () => {
  it(`are at most 1.2 for a write, in ${CREATES} creates by ${CALLERS} callers, with keys and without, over one subscription`, async () => {
    let left = CREATES;
    const calls = await callsOf(async () => {
      const caller = async (): Promise<void> => {
        while ((left -= 1) >= 0) await create(`N ${left}`, left % 2 === 0 ? randomUUID() : undefined);
      };
      await Promise.all(Array.from({ length: CALLERS }, caller));
    });
    console.info(`calls for ${CREATES} creates: ${JSON.stringify(calls)}`);
    expect(calls['append']).toBe(CREATES);
    expect(total(calls)).toBeLessThanOrEqual(1.2 * CREATES);
    expect(eventStore.subscriptions).toBe(1);
  }, 300_000);

  it('are one for a change of a stream that the process has cached, and two otherwise', async () => {
    const update = (id: number, name: string) =>
      callsOf(async () => {
        const headers = { 'Idempotency-Key': randomUUID() };
        expect((await account.api.put(`/advertisers/${id}`, { name }, headers)).status).toBe(200);
      });
    const id = await create('Known');
    expect(await update(id, 'Known still')).toEqual({ append: 1 });
    expect(await update(id, 'Known yet')).toEqual({ append: 1 });

    const advertiserId = 5_000_000;
    const { customerId } = account;
    // Another store object, without the cached state of streams.
    const another = { ...service.store };
    const byAnotherStore = (command: AdvertiserCommand) =>
      executeCommand(another, advertiserAggregate, {
        stream: advertiserStream(customerId, advertiserId),
        command,
        context: { commandId: randomUUID(), customerId, actor: 'test', requestId: 'calls' },
      });
    const now = '2026-01-01T00:00:00.000Z';
    const origin = { commandId: randomUUID(), now };
    await byAnotherStore(createAdvertiser({ name: 'Unknown' }, { advertiserId, customerId }, origin));
    expect(await update(advertiserId, 'Read once')).toEqual({ 'read-stream': 1, append: 1 });
    expect(await update(advertiserId, 'Known now')).toEqual({ append: 1 });
    await byAnotherStore({ type: 'ArchiveAdvertiser', now });
    await byAnotherStore({ type: 'RestoreAdvertiser', now });
    // The first append fails with a conflict, because another process has written.
    expect(await update(advertiserId, 'Read again')).toEqual({ append: 2, 'read-stream': 1 });
  });

  it('are two for a repeat whose first run may have appended: its event is read back', async () => {
    const key = randomUUID();
    const calls = await callsOf(async () => {
      eventStore.faults.inject({ fault: 'mute-after-commit', kinds: ['append'] });
      const first = await account.api.post('/advertisers', { name: 'Unsure' }, { 'Idempotency-Key': key });
      expect(first.status).toBe(503);
      let second = first;
      while (second.status !== 201) {
        await sleep(200);
        second = await account.api.post('/advertisers', { name: 'Unsure' }, { 'Idempotency-Key': key });
      }
    });
    expect(calls['read-stream']).toBeGreaterThanOrEqual(1);
  });

  it('are one read of its end every 5 s while idle', async () => {
    await sleep(500);
    const startMs = performance.now();
    const calls = await callsOf(() => sleep(IDLE_MS));
    const pollsMax = Math.floor((performance.now() - startMs) / POLL_MS) + 1;
    expect(Object.keys(calls)).toEqual(['read-all']);
    expect(total(calls)).toBeLessThanOrEqual(pollsMax);
    expect(eventStore.subscriptions).toBe(1);
  });
});
