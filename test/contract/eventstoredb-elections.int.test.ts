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

/** Three in-memory nodes change their leader while separate processes append. */

const WORKERS = 24;
const ELECTIONS = amount(20, 60);
const ELECTIONS_OF_COMMANDS = amount(12, 48);

let cluster: Cluster;
let loads: RunningLoad<unknown>[];
beforeEach(async () => {
  cluster = await startCluster(3, {
    // Some appends are sent, some stored, some answered when their leader fails.
    appendDelayMs: () => Math.random() * 8,
    // During an election, nodes answer slowly who belongs to the cluster.
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
const electionPause = (): Promise<void> => sleep(20 + Math.random() * 180);

let truncated = 0;
const changes: readonly (readonly [string, () => Promise<void>])[] = [
  [
    'dies, and comes back as a follower',
    async () => {
      const old = leader();
      await cluster.kill(old);
      await electionPause();
      cluster.elect(successor(old));
      await cluster.start(old);
    },
  ],
  [
    'resigns',
    async () => {
      const old = leader();
      cluster.beginElection();
      await electionPause();
      cluster.elect(successor(old));
    },
  ],
  [
    'is cut off, believes that it leads, and cuts off what it appended alone',
    async () => {
      const old = leader();
      cluster.cutOffLeader();
      await electionPause();
      cluster.elect(successor(old));
      await electionPause();
      truncated += cluster.rejoin();
    },
  ],
  [
    'is cut off, and no other node leads for longer than an append is tried: its outcome is unknown',
    async () => {
      const old = leader();
      cluster.cutOffLeader();
      await sleep(callLimits.answerMs + 300);
      cluster.elect(successor(old));
      await electionPause();
      truncated += cluster.rejoin();
    },
  ],
  [
    'is frozen, and answers late',
    async () => {
      const old = leader();
      old.service.freeze();
      cluster.cutOffLeader();
      await electionPause();
      cluster.elect(successor(old));
      await electionPause();
      old.service.thaw();
      truncated += cluster.rejoin();
    },
  ],
  [
    'is elected and resigns before every process has found it, five times',
    async () => {
      for (let times = 0; times < 5; times += 1) {
        const old = leader();
        cluster.beginElection();
        await electionPause();
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
      await electionPause();
      cluster.elect(successor(old));
      await cluster.start(old);
    },
  ],
];

/**
 * Changes the leader `count` times, each time after more appends were stored.
 * @throws when a process of the load has ended
 */
const throughElections = async (count: number): Promise<void> => {
  truncated = 0;
  const appendsContinue = async (): Promise<void> => {
    const before = cluster.log.records.length;
    await until(
      () =>
        cluster.log.records.length > before + 4 * WORKERS || loads.some(({ ended }) => ended !== undefined),
    );
  };
  await appendsContinue();
  for (let n = 0; n < count; n += 1) {
    await changes[n % changes.length]?.[1]();
    await appendsContinue();
    expect(loads.map(({ ended }) => ended)).toEqual([undefined, undefined]);
  }
  expect(truncated).toBeGreaterThan(0);
};

/** Starts two processes. The second one gets the address of one node only, so it has to find the others. */
const startTwo = async <Load>(
  start: (url: string) => Promise<RunningLoad<Load>>,
): Promise<readonly RunningLoad<Load>[]> => {
  const second = cluster.nodes[1] as ClusterNode;
  const two = [await start(cluster.url()), await start(cluster.url([second]))];
  loads = two;
  return two;
};

describe('elections under appends', () => {
  it(`${ELECTIONS} elections, ${WORKERS} concurrent appends in each of two processes: no process ends, every result is right`, async () => {
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
        `${unknown} unknown and settled, ${truncated} cut off with a leader that was alone`,
    );
  }, 240_000);

  it(`${ELECTIONS_OF_COMMANDS} elections during commands that append by one call: each command runs once, with the result that it returned`, async () => {
    const claims = await createTestDatabase();
    try {
      const two = await startTwo((url) => startCommandLoad(url, WORKERS, claims.url));
      await throughElections(ELECTIONS_OF_COMMANDS);
      const outcomes: readonly CommandLoad[] = await Promise.all(two.map((load) => load.stop()));
      const done = outcomes.flatMap((one) => one.done);
      const readBack = sum(outcomes.map((one) => one.readBack));
      expect(outcomes.flatMap(({ failed }) => failed)).toEqual([]);
      // No event is lost, duplicated or left by an abandoned command. Each command decided on the current state.
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
          `${unknown} unknown and settled, ${truncated} cut off with a leader that was alone`,
      );
    } finally {
      for (const load of loads) load.kill();
      await claims.drop();
    }
  }, 240_000);

  it('detects a command that wrongly claims that its append cannot be a repeat', async () => {
    const claims = await createTestDatabase();
    try {
      const load = await startCommandLoad(cluster.url(), 4, claims.url, REPEAT_TREATED_AS_FIRST);
      loads = [load];
      // A worker ends at its first wrong answer.
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
