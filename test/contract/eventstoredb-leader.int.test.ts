import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
  START,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { callLimits } from '../../shared/event-store/eventstoredb/call-limits.ts';
import type { EventStoreDbEventStore } from '../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import { until } from '../support/eventstoredb/client-kit.ts';
import { startCluster, type Cluster, type ClusterNode } from '../support/eventstoredb/cluster.ts';
import { startEventStoreService } from '../support/eventstoredb/event-store-service.ts';
import type { Member } from '../support/eventstoredb/node-context.ts';
import { openEventStoreDbStore } from './make-eventstoredb-store.ts';
import { newStream, readIds, sampleEvents } from './sample-events.ts';

/**
 * How soon a process can append after another node has become the leader: with the limits of a request, its first
 * append is accepted. It has 2.4 s to notice the change and find the leader.
 */

let cluster: Cluster;
let stores: EventStoreDbEventStore[];
beforeEach(async () => {
  cluster = await startCluster(3);
  stores = [];
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await cluster.close();
});

const open = (seeds?: readonly ClusterNode[]): EventStoreDbEventStore => {
  const { store } = openEventStoreDbStore(cluster.url(seeds), undefined, callLimits);
  stores.push(store);
  return store;
};
const node = (n: number): ClusterNode => cluster.nodes[n] as ClusterNode;
const append = (store: EventStoreDbEventStore) => store.append(newStream(), sampleEvents(1), 'no-stream');
const appendError = async (store: EventStoreDbEventStore): Promise<unknown> =>
  append(store).catch((error) => error);
const member = (of: ClusterNode, state: Member['state']): Member => ({
  host: '127.0.0.1',
  port: of.port,
  state,
  isAlive: true,
});

const allNodesReport = (view: Member[]): Member[][] => cluster.nodes.map(() => view);

describe('the first append after another node has become the leader', () => {
  it('is accepted when the old leader died and the process did nothing meanwhile', async () => {
    const store = open();
    await append(store);
    await cluster.kill(node(0));
    await sleep(500);
    cluster.elect(node(1));
    expect(await append(store)).toMatchObject({ revision: 0, repeated: false });
  });

  it('is accepted when the old leader died and the process has searched for a leader since', async () => {
    const store = open();
    await append(store);
    await cluster.kill(node(0));
    for (let times = 0; times < 3; times += 1) {
      expect(await appendError(store)).toBeInstanceOf(Error);
    }
    cluster.elect(node(2));
    expect(await append(store)).toMatchObject({ revision: 0 });
  });

  it('is accepted when the old leader is frozen: it accepts connections and calls without answering', async () => {
    const [idle, busy] = [open(), open()];
    await Promise.all([append(idle), append(busy)]);
    node(0).service.freeze();
    cluster.cutOffLeader();
    await appendError(busy);
    cluster.elect(node(1));
    for (const store of [idle, busy]) expect(await append(store)).toMatchObject({ revision: 0 });
    expect(node(1).service.calls.append).toBe(2);
  });

  it('is accepted when the old leader is cut off and believes that it still leads', async () => {
    const store = open();
    await append(store);
    cluster.cutOffLeader();
    cluster.elect(node(2));
    const events = sampleEvents(1);
    expect(await store.append('sample-cut', events, 'no-stream')).toMatchObject({ revision: 0 });
    expect(node(0).service.tail.length).toBeLessThanOrEqual(1);
    cluster.rejoin();
    expect(await readIds(store, 'sample-cut')).toEqual(events.map(({ id }) => id));
  });

  it('is accepted when the same node leads again after a restart', async () => {
    const alone = await startEventStoreService();
    const { store } = openEventStoreDbStore(alone.url, undefined, callLimits);
    stores.push(store);
    await append(store);
    await alone.close();
    expect(await appendError(store)).toBeInstanceOf(Error);
    const { port, log } = alone;
    const again = await startEventStoreService({ port, log, nodeRole: { role: 'leaderless' } });
    expect(await appendError(store)).toBeInstanceOf(EventStoreUnavailableError);
    again.setRole({ role: 'leader' });
    expect(await append(store)).toMatchObject({ revision: 0 });
    await again.close();
  });

  it('is accepted when the process was given one node only, which is gone: it asks the nodes that it has learnt about', async () => {
    const store = open([node(1)]);
    await append(store);
    await cluster.kill(node(1));
    await cluster.kill(node(0));
    await cluster.start(node(1));
    await cluster.kill(node(1));
    cluster.elect(node(2));
    expect(await append(store)).toMatchObject({ revision: 0 });
  });
});

describe('the leader is found although', () => {
  it.each([
    ['no node answers which nodes belong to the cluster', () => []],
    ['every node reports an empty cluster', () => [[], [], []]],
    ['every node still names the node that died', () => allNodesReport([member(node(0), 'leader')])],
    [
      'they contradict each other',
      () => [
        [],
        [member(node(0), 'leader'), member(node(1), 'follower'), member(node(2), 'follower')],
        [member(node(0), 'follower'), member(node(1), 'leader'), member(node(2), 'unknown')],
      ],
    ],
    [
      'they name nodes as the client cannot understand them',
      () =>
        allNodesReport([
          { host: '::1', port: 2113, state: 'leader' },
          { host: 'a host?', port: 2113, state: 'leader' },
          { host: '', port: 0, state: 'leader' },
        ]),
    ],
    [
      'they name nodes that are not there',
      () => allNodesReport([{ host: '127.0.0.1', port: 1, state: 'leader' }]),
    ],
  ])('%s', async (_, views: () => Member[][]) => {
    const store = open();
    await append(store);
    await cluster.kill(node(0));
    cluster.elect(node(2));
    for (const [n, view] of views().entries()) node(n).service.faults.gossip(view);
    if (views().length === 0) {
      for (const n of [1, 2]) node(n).service.faults.inject({ fault: 'mute', kinds: ['gossip'], next: null });
    }
    expect(await append(store)).toMatchObject({ revision: 0 });
    expect(node(2).service.calls.append).toBe(1);
  });
});

describe('an old leader that was frozen and claims that it still leads', () => {
  /**
   * Thaws the old leader, which then answers before the node that leads.
   * @returns a store that follows the new leader
   */
  const thawOldLeader = async (answerMs: number): Promise<EventStoreDbEventStore> => {
    const store = open();
    await append(store);
    node(0).service.freeze();
    cluster.cutOffLeader();
    cluster.elect(node(1));
    await append(store);
    node(0).service.thaw();
    node(1).service.faults.inject({
      fault: 'late-reply',
      delayMs: answerMs,
      kinds: ['read-all'],
      next: null,
    });
    return store;
  };

  it.each([
    ['at once', 100],
    ['later than other nodes have time to contradict', 600],
  ])('is not believed where the other one answers %s', async (_, answerMs) => {
    await thawOldLeader(answerMs);
    // Events that it received while it was frozen.
    const before = node(0).service.tail.length;
    expect(await append(open())).toMatchObject({ revision: 0 });
    expect(await append(open([node(0)]))).toMatchObject({ revision: 0 });
    expect(node(0).service.tail).toHaveLength(before);
  });

  it('makes no gap in the log for subscribers that have to find the leader again', async () => {
    const store = await thawOldLeader(100);
    const seen: RecordedEvent[] = [];
    const ended = new AbortController();
    const following = (async () => {
      for await (const { events } of store.subscribeToAll({ after: START, signal: ended.signal }))
        seen.push(...events);
    })();
    await until(() => seen.length === 2);
    node(1).service.faults.resetConnections();
    await append(store);
    await until(() => seen.length === 3);
    ended.abort();
    await following;
  });
});

describe('without a leader', () => {
  it('an append is refused without asking any node to write', async () => {
    const store = open();
    await append(store);
    const before = cluster.nodes.map(({ service }) => service.calls.append);
    cluster.beginElection();
    expect(await appendError(store)).toBeInstanceOf(EventStoreUnavailableError);
    // Otherwise it may have reached the old leader before that one reported that it no longer leads.
    expect(cluster.nodes.map(({ service }) => service.calls.append)).toEqual(before);
    expect(cluster.log.records).toHaveLength(1);
  });

  it('a node that has lost its majority and does not know it is not believed', async () => {
    const store = open();
    await append(store);
    cluster.cutOffLeader();
    expect(await appendError(open())).toBeInstanceOf(EventStoreUnavailableError);
    expect(node(0).service.tail).toEqual([]);
    // A process that was connected to it notices at its first append without an answer.
    expect(await appendError(store)).toBeInstanceOf(AppendOutcomeUnknownError);
    expect(await store.appendProblem()).toContain('no node leads');
    cluster.rejoin();
  });
});

describe('when another node leads', () => {
  it('reads, appends and subscriptions all move to it', async () => {
    const store = open();
    const seen: RecordedEvent[] = [];
    const ended = new AbortController();
    const following = (async () => {
      for await (const { events } of store.subscribeToAll({ after: START, signal: ended.signal }))
        seen.push(...events);
    })();
    await append(store);
    await until(() => seen.length === 1);
    cluster.beginElection();
    cluster.elect(node(1));
    await append(store);
    await until(() => seen.length === 2);
    await until(() => cluster.nodes.every(({ service }, n) => service.subscriptions === (n === 1 ? 1 : 0)));
    await until(() => cluster.nodes.every(({ service }, n) => (n === 1) === service.connections > 0));
    ended.abort();
    await following;
  });
});

describe('whether an append is possible', () => {
  it('is reported by a node that leads, and by no other; the check writes nothing', async () => {
    const store = open();
    expect(await store.appendProblem()).toBeUndefined();
    cluster.beginElection();
    expect(await store.appendProblem()).toContain('no node leads');
    cluster.elect(node(2));
    let problem: string | undefined = 'not asked';
    for (let tries = 0; tries < 20 && problem !== undefined; tries += 1)
      problem = await store.appendProblem();
    expect(problem).toBeUndefined();
    await cluster.kill(node(2));
    expect(await store.appendProblem()).toBeDefined();
    expect(cluster.log.records).toEqual([]);
  });
});
