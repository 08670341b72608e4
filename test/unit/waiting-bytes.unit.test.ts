import { expect, it } from '@jest/globals';
import { createWaitingBytes } from '../../command/conversions/waiting-bytes.ts';
import { EventStoreUnavailableError } from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { callOf, clock, items, ledgerOn } from '../support/conversion-calls.ts';

const failingStore = {
  ...createMemoryEventStore(clock),
  append: async () => {
    throw new EventStoreUnavailableError('unavailable');
  },
};

it('a call beyond the limit of the process is refused, and accepted once waiting calls are answered', async () => {
  const waitingBytes = createWaitingBytes(1_000);
  const store = createMemoryEventStore(clock);
  const [one, other] = [ledgerOn(store, { waitingBytes }), ledgerOn(store, { waitingBytes })];
  const waiting = one.submit(callOf(items('a'), { bytes: 900 }));
  await expect(other.submit(callOf(items('b'), { bytes: 101 }))).rejects.toBeInstanceOf(
    EventStoreUnavailableError,
  );
  await waiting;
  expect(await other.submit(callOf(items('b'), { bytes: 101 }))).toMatchObject({ outcome: 'done' });
});

it('a single call may exceed the limit', async () => {
  const ledger = ledgerOn(createMemoryEventStore(clock), { waitingBytes: createWaitingBytes(10) });
  for (const id of ['a', 'b']) {
    expect(await ledger.submit(callOf(items(id), { bytes: 11 }))).toMatchObject({ outcome: 'done' });
  }
});

it('a failed call no longer counts', async () => {
  const waitingBytes = createWaitingBytes(10);
  const ledger = ledgerOn(failingStore, { waitingBytes });
  await expect(ledger.submit(callOf(items('a'), { bytes: 10 }))).rejects.toThrow('unavailable');
  expect(waitingBytes.take(10)).toBe(true);
});

it('a call that was answered before others of its group failed is not counted twice', async () => {
  const waitingBytes = createWaitingBytes(1_000);
  const ledger = ledgerOn(failingStore, { waitingBytes });
  const tested = ledger.submit(callOf(items('a'), { bytes: 500, mode: 'test', testEventCode: 'T' }));
  await expect(ledger.submit(callOf(items('b'), { bytes: 500 }))).rejects.toThrow('unavailable');
  expect(await tested).toMatchObject({ outcome: 'done' });
  expect(waitingBytes.take(1_000)).toBe(true);
  expect(waitingBytes.take(1)).toBe(false);
});
