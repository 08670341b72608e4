import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import {
  categoryOf,
  comparePositions,
  EventStoreUnavailableError,
  AppendOutcomeUnknownError,
  START,
  type NewEvent,
  type Position,
} from '../../shared/event-store/event-store.ts';
import { callLimits } from '../../shared/event-store/eventstoredb/call-limits.ts';
import type { EventStoreDbEventStore } from '../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import { amount } from '../support/amount.ts';
import { until } from '../support/eventstoredb/client-kit.ts';
import { startCluster, type Cluster, type ClusterNode } from '../support/eventstoredb/cluster.ts';
import { openEventStoreDbStore } from './make-eventstoredb-store.ts';
import { sampleEvents } from './sample-events.ts';

/** Subscribers of one process follow the log while the cluster changes its leader. */

const ELECTIONS = amount(9, 60);
const CATEGORIES = ['apple', 'pear', 'fig'];

let cluster: Cluster;
let store: EventStoreDbEventStore;
let other: EventStoreDbEventStore;
let ending: AbortController;
beforeEach(async () => {
  ending = new AbortController();
  cluster = await startCluster(3, { appendDelayMs: () => Math.random() * 4 });
  [store, other] = [cluster.url(), cluster.url()].map(
    (url) => openEventStoreDbStore(url, undefined, callLimits).store,
  ) as [EventStoreDbEventStore, EventStoreDbEventStore];
});
afterEach(async () => {
  ending.abort();
  await Promise.all([store.close(), other.close()]);
  await cluster.close();
});

const leader = (): ClusterNode => cluster.leader as ClusterNode;
const successor = (of: ClusterNode): ClusterNode =>
  cluster.nodes.find((node) => node.isRunning && node.port !== of.port) as ClusterNode;

const changes: readonly (() => Promise<void>)[] = [
  async () => {
    const old = leader();
    await cluster.kill(old);
    await sleep(100);
    cluster.elect(successor(old));
    await cluster.start(old);
  },
  async () => {
    const old = leader();
    cluster.cutOffLeader();
    await sleep(100);
    cluster.elect(successor(old));
    await sleep(100);
    cluster.rejoin();
  },
  async () => {
    const old = leader();
    old.service.freeze();
    cluster.cutOffLeader();
    await sleep(100);
    cluster.elect(successor(old));
    await sleep(1_500);
    old.service.thaw();
    cluster.rejoin();
  },
];

/** Every event that a subscriber receives, in order. */
const follow = async (
  categories: readonly string[],
  pauseMs: () => number,
  seen: string[],
): Promise<void> => {
  let last: Position = START;
  const options = { after: START, batchSize: 20, filter: { categories }, signal: ending.signal };
  for await (const { events, position } of store.subscribeToAll(options)) {
    expect(comparePositions(position, last)).toBeGreaterThanOrEqual(0);
    last = position;
    seen.push(...events.map(({ id }) => id));
    const ms = pauseMs();
    if (ms > 0) await sleep(ms);
  }
};

/** Repeats an append until its outcome is known. @returns the stream's last revision */
const write = async (
  by: EventStoreDbEventStore,
  stream: string,
  events: readonly NewEvent[],
  last: number,
): Promise<number> => {
  for (;;) {
    try {
      return (await by.append(stream, events, last < 0 ? 'no-stream' : last)).revision;
    } catch (error) {
      const isPassing =
        error instanceof EventStoreUnavailableError || error instanceof AppendOutcomeUnknownError;
      if (!isPassing) throw error;
    }
  }
};

describe('the subscribers of one process', () => {
  it(`receive every event once and in order through ${ELECTIONS} elections`, async () => {
    const wanted = [CATEGORIES, ['apple'], ['pear', 'fig'], CATEGORIES];
    const seen = wanted.map((): string[] => []);
    const following = wanted.map((categories, n) =>
      follow(categories, () => (n === 3 && Math.random() < 0.2 ? 150 : 0), seen[n] as string[]),
    );
    const failed: unknown[] = [];
    for (const one of following) one.catch((error: unknown) => failed.push(error));
    let isWriting = true;
    const writing = Promise.all(
      CATEGORIES.map(async (category, n) => {
        // The subscribers' own process and another one.
        const by = n === 0 ? store : other;
        for (let last = -1; isWriting;) last = await write(by, `${category}-7-1`, sampleEvents(3), last);
      }),
    );
    for (let n = 0; n < ELECTIONS; n += 1) {
      await changes[n % changes.length]?.();
      const before = cluster.log.records.length;
      await until(() => cluster.log.records.length > before + 30);
      expect(failed).toEqual([]);
    }
    isWriting = false;
    await writing;
    const inLog = (n: number) =>
      cluster.log.records.filter(({ stream }) => wanted[n]?.includes(categoryOf(stream))).map(({ id }) => id);
    await until(() => seen.every((ids, n) => ids.length >= inLog(n).length));
    for (const [n, ids] of seen.entries()) expect(ids).toEqual(inLog(n));
    expect(failed).toEqual([]);
    console.info(
      `${ELECTIONS} elections, ${cluster.log.records.length} events, ${store.subscriptionsLost} subscriptions lost`,
    );
  }, 180_000);
});
