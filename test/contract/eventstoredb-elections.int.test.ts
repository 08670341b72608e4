import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sleep } from '../../shared/async/backoff.ts';
import { callLimits } from '../../shared/event-store/eventstoredb/call-limits.ts';
import { amount } from '../support/amount.ts';
import {
  REPEAT_TREATED_AS_FIRST,
  startAppendLoad,
  startCommandLoad,
  type AppendLoad,
  type CommandLoad,
  type RunningLoad,
} from '../support/eventstoredb/append-load.ts';
import { until } from '../support/eventstoredb/client-kit.ts';
import { startCluster, type Cluster, type ClusterNode } from '../support/eventstoredb/cluster.ts';
import type { LogRecord } from '../support/eventstoredb/event-log.ts';
import { createTestDatabase } from '../support/test-database.ts';

/** A cluster of three nodes in memory that changes its leader under appends from processes of their own. */

const WORKERS = 24;
const ELECTIONS = amount(20, 60);
const ELECTIONS_OF_COMMANDS = amount(12, 48);

let cluster: Cluster;
let loads: RunningLoad<unknown>[];
beforeEach(async () => {
  cluster = await startCluster(3, {
    // Appends are anywhere between being sent and being answered when their leader goes.
    appendDelayMs: () => Math.random() * 8,
    // Nodes that are in an election take their time to say who is in the cluster.
    gossipDelayMs: () => Math.random() * 1_000,
  });
  loads = [];
});
afterEach(async () => {
  for (const load of loads) load.kill();
  await cluster.close();
});

const leader = (): ClusterNode => {
  if (cluster.leader === undefined) throw new Error('There is no leader.');
  return cluster.leader;
};
const successor = (of: ClusterNode): ClusterNode =>
  cluster.nodes.find((node) => node.isRunning && node.port !== of.port) as ClusterNode;
const electing = (): Promise<void> => sleep(20 + Math.random() * 180);

let cut = 0;
const changes: readonly (readonly [string, () => Promise<void>])[] = [
  [
    'dies, and comes back as a follower',
    async () => {
      const old = leader();
      await cluster.kill(old);
      await electing();
      cluster.elect(successor(old));
      await cluster.start(old);
    },
  ],
  [
    'resigns',
    async () => {
      const old = leader();
      cluster.beginElection();
      await electing();
      cluster.elect(successor(old));
    },
  ],
  [
    'is cut off, believes that it leads, and cuts off what it appended alone',
    async () => {
      const old = leader();
      cluster.cutOffLeader();
      await electing();
      cluster.elect(successor(old));
      await electing();
      cut += cluster.rejoin();
    },
  ],
  [
    'is cut off, and no other node leads for longer than an append is tried: its outcome is unknown',
    async () => {
      const old = leader();
      cluster.cutOffLeader();
      await sleep(callLimits.answerMs + 300);
      cluster.elect(successor(old));
      await electing();
      cut += cluster.rejoin();
    },
  ],
  [
    'is frozen, and answers late',
    async () => {
      const old = leader();
      old.service.freeze();
      cluster.cutOffLeader();
      await electing();
      cluster.elect(successor(old));
      await electing();
      old.service.thaw();
      cut += cluster.rejoin();
    },
  ],
  [
    'is elected, and resigns again before everybody has found it, five times over',
    async () => {
      for (let times = 0; times < 5; times += 1) {
        const old = leader();
        cluster.beginElection();
        await electing();
        cluster.elect(successor(old));
        await sleep(Math.random() * 1_500);
      }
    },
  ],
  [
    'leaves, and another one takes its place',
    async () => {
      const old = leader();
      await cluster.leave(old);
      await electing();
      cluster.elect(successor(old));
      await cluster.start(old);
    },
  ],
];

/** Changes the leader so often, each time when appends have gone on. @throws when a process of the load has ended */
const throughElections = async (count: number): Promise<void> => {
  cut = 0;
  const goesOn = async (): Promise<void> => {
    const before = cluster.log.records.length;
    await until(
      () =>
        cluster.log.records.length > before + 4 * WORKERS || loads.some(({ ended }) => ended !== undefined),
    );
  };
  await goesOn();
  for (let n = 0; n < count; n += 1) {
    await changes[n % changes.length]?.[1]();
    await goesOn();
    expect(loads.map(({ ended }) => ended)).toEqual([undefined, undefined]);
  }
  expect(cut).toBeGreaterThan(0);
};

/** Starts two processes. The second one knows one node only: it has to find the others. */
const startTwo = async <Load>(
  start: (url: string) => Promise<RunningLoad<Load>>,
): Promise<readonly RunningLoad<Load>[]> => {
  const second = cluster.nodes[1] as ClusterNode;
  const two = [await start(cluster.url()), await start(cluster.url([second]))];
  loads = two;
  return two;
};

describe('elections under appends', () => {
  it(`${ELECTIONS} of them, ${WORKERS} appends in flight in each of two processes: none ends, every outcome is right`, async () => {
    const two = await startTwo((url) => startAppendLoad(url, WORKERS));
    await throughElections(ELECTIONS);
    const outcomes: readonly AppendLoad[] = await Promise.all(two.map((load) => load.stop()));
    const accepted = outcomes.flatMap((one) => one.accepted);
    const refused = outcomes.flatMap((one) => one.refused);
    expect(outcomes.flatMap(({ failed }) => failed)).toEqual([]);
    const inLog = cluster.log.records.map(({ id, stream, revision }) => `${stream}@${revision} ${id}`);
    expect(inLog.toSorted()).toEqual(
      accepted.map(({ id, stream, revision }) => `${stream}@${revision} ${id}`).toSorted(),
    );
    expect(cluster.log.records.filter(({ id }) => refused.includes(id))).toEqual([]);
    const unknown = sum(outcomes.map((one) => one.unknown));
    expect(unknown).toBeGreaterThan(0);
    console.info(
      `${ELECTIONS} elections: ${accepted.length} appends accepted, ${refused.length} refused, ` +
        `${unknown} unknown and settled, ${cut} cut off with a leader that was alone`,
    );
  }, 240_000);

  it(`${ELECTIONS_OF_COMMANDS} of them under commands whose appends are one call: each is done once, as it was answered`, async () => {
    const claims = await createTestDatabase();
    try {
      const two = await startTwo((url) => startCommandLoad(url, WORKERS, claims.url));
      await throughElections(ELECTIONS_OF_COMMANDS);
      const outcomes: readonly CommandLoad[] = await Promise.all(two.map((load) => load.stop()));
      const done = outcomes.flatMap((one) => one.done);
      const readBack = sum(outcomes.map((one) => one.readBack));
      expect(outcomes.flatMap(({ failed }) => failed)).toEqual([]);
      // Nothing lost, nothing doubled, nothing of commands that were given up, and each decided on what was there.
      expect(cluster.log.records.map(commandIn).toSorted()).toEqual(
        done
          .map((one) => `${one.stream}@${one.revision} ${one.commandId} ${one.count} ${one.run}`)
          .toSorted(),
      );
      expect(done.filter(({ revision, count }) => count !== revision + 1)).toEqual([]);
      expect(readBack).toBeLessThan(done.length / 2);
      const unknown = sum(outcomes.map((one) => one.unknown));
      expect(unknown).toBeGreaterThan(0);
      console.info(
        `${ELECTIONS_OF_COMMANDS} elections: ${done.length} commands done, of which ${readBack} times one may have run before, ` +
          `${outcomes.flatMap(({ givenUp }) => givenUp).length} given up, ` +
          `${unknown} unknown and settled, ${cut} cut off with a leader that was alone`,
      );
    } finally {
      for (const load of loads) load.kill();
      await claims.drop();
    }
  }, 240_000);

  it('a planted defect shows: a command that says that its append cannot be a repeat, although it can', async () => {
    const claims = await createTestDatabase();
    try {
      const load = await startCommandLoad(cluster.url(), 4, claims.url, REPEAT_TREATED_AS_FIRST);
      loads = [load];
      // A worker ends with its first wrong answer.
      await sleep(4_000);
      expect((await load.stop()).failed.join()).toContain('answers differ');
    } finally {
      for (const load of loads) load.kill();
      await claims.drop();
    }
  }, 60_000);
});

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

const commandIn = ({ stream, revision, data, metadata }: LogRecord): string => {
  const { count, run } = JSON.parse(Buffer.from(data).toString()) as { count: number; run: string };
  const { causationId } = JSON.parse(Buffer.from(metadata).toString()) as { causationId: string };
  return `${stream}@${revision} ${causationId} ${count} ${run}`;
};
