import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadAccount, runOnAccount } from '../../command/accounts/handler.ts';
import { accountStream } from '../../domain/accounts/account.ts';
import { accountEvents, type AccountEvent } from '../../domain/accounts/events.ts';
import { createSnapshotStore } from '../../shared/aggregate/snapshots.ts';
import { toNewEvents } from '../../shared/aggregate/recorded-domain-event.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';
import { silent } from '../support/toy-projection.ts';
import { until } from '../support/until.ts';

/** An account whose members came, changed and left 5,000 times, and one with 10,000 members. */

let service: RunningService;
let account: TestAccount;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
});
afterAll(() => service.stop());

const append = async ({ customerId }: TestAccount, events: readonly AccountEvent[]): Promise<void> => {
  for (let from = 0; from < events.length; from += 500) {
    const commandId = randomUUID();
    const context = { commandId, customerId, actor: 'test', requestId: commandId };
    const made = toNewEvents(events.slice(from, from + 500), context, accountEvents);
    await service.store.append(accountStream(customerId), made, 'any');
  }
};

/** Counts the events that are read. */
const counting = (store: EventStore): { readonly store: EventStore; readonly read: () => number } => {
  let count = 0;
  const readStream: EventStore['readStream'] = async function* (stream, range) {
    for await (const event of store.readStream(stream, range)) {
      count += 1;
      yield event;
    }
  };
  return { store: { ...store, readStream }, read: () => count };
};

const occurredAt = '2026-01-01T00:00:00.000Z';
const comeAndGo = (customerId: number, count: number): readonly AccountEvent[] =>
  Array.from({ length: count }, (_, n): AccountEvent => {
    const userId = `${customerId}-${Math.floor(n / 2) + 2}`;
    return n % 2 === 0
      ? { type: 'UserAdded', data: { userId, name: `User ${n}`, role: 'member' }, occurredAt }
      : { type: 'UserRemoved', data: { userId }, occurredAt };
  });

describe('a long stream of an account', () => {
  it('is read from its snapshot: a command reads the first 200 events, and less than 400 of the last', async () => {
    const { customerId } = account;
    await append(account, comeAndGo(customerId, 5_000));
    const whole = counting(service.store);
    const startedAt = performance.now();
    const { state } = await loadAccount({ store: whole.store }, customerId);
    const wholeMs = performance.now() - startedAt;
    expect(whole.read()).toBe(5_002);
    const snapshots = createSnapshotStore(service.pool, silent);
    await loadAccount({ store: service.store, snapshots }, customerId);
    await until(async () => {
      const { rows } = await service.pool.query('select from snapshots where stream = $1', [
        accountStream(customerId),
      ]);
      return rows.length === 1;
    });
    const short = counting(service.store);
    const againAt = performance.now();
    const snapshot = await loadAccount({ store: short.store, snapshots }, customerId);
    const shortMs = performance.now() - againAt;
    console.log(`5,002 events: ${wholeMs.toFixed(0)} ms; from the snapshot: ${shortMs.toFixed(0)} ms`);
    expect(snapshot.state).toEqual(state);
    expect(short.read()).toBeLessThan(400);
    const commandId = randomUUID();
    const added = await runOnAccount(
      { store: service.store, snapshots },
      { type: 'AddUser', now: occurredAt, name: 'Next', role: 'member' },
      { commandId, customerId, actor: 'test', requestId: commandId },
    );
    expect(added).toMatchObject({ outcome: 'done', state: { usersAdded: 2_502 } });
  });
});

describe('10,000 members', () => {
  it('are listed in pages, and one more is added and removed', async () => {
    const large = await service.openAccount('Large');
    const { customerId } = large;
    const members = Array.from({ length: 10_000 }, (_, n): AccountEvent => ({
      type: 'UserAdded',
      data: { userId: `${customerId}-${n + 2}`, name: `User ${n}`, role: 'member' },
      occurredAt: new Date(Date.parse(occurredAt) + n).toISOString(),
    }));
    await append(large, members);
    const listed = (query: string) => large.api.get<{ id: string }[]>(`/../accounts/current/members${query}`);
    await until(async () => (await listed('?take=1')).body.meta.pagination.total === 10_001, 60_000);
    const last = await listed('?take=200&skip=9900');
    expect([last.body.data.length, last.body.meta.pagination.hasMore]).toEqual([101, false]);
    const timed = async (userId: string): Promise<number> => {
      const startedAt = performance.now();
      const changed = await large.api.put(`/../accounts/current/members/${userId}`, { role: 'admin' });
      const removed = await large.api.delete(`/../accounts/current/members/${userId}`);
      expect([changed.status, removed.status]).toEqual([200, 204]);
      return Math.round(performance.now() - startedAt);
    };
    const [firstMs, nextMs] = [await timed(`${customerId}-5000`), await timed(`${customerId}-6000`)];
    console.log(`role and removal among 10,000 members: ${firstMs} ms, with a snapshot ${nextMs} ms`);
    expect((await listed('?take=1')).body.meta.pagination.total).toBe(9_999);
  });
});
