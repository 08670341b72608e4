import { createEventLog, type EventLog } from './event-log.ts';
import {
  startEventStoreService,
  type EventStoreService,
  type EventStoreServiceOptions,
} from './event-store-service.ts';
import type { Member } from './node-context.ts';

/** One node of a cluster. It keeps its port, however often it is killed and started. */
export interface ClusterNode {
  readonly port: number;
  readonly service: EventStoreService;
  readonly isRunning: boolean;
}

/**
 * Nodes in memory that share what a majority of them has, each at a port of its own: they die, are frozen, lose their
 * leadership, come back. Elections happen when a test says so.
 */
export interface Cluster {
  readonly nodes: readonly ClusterNode[];
  readonly log: EventLog;
  readonly leader: ClusterNode | undefined;
  /** @param seeds the nodes that it names; all by default */
  url(seeds?: readonly ClusterNode[]): string;
  /** From now on no node leads: the old leader, if it runs, knows it. */
  beginElection(): void;
  /** Makes a node the leader, which all others that are in touch follow. */
  elect(node: ClusterNode): void;
  /** Cuts the leader off from the others, so that it believes that it still leads. The others have no leader. */
  cutOffLeader(): void;
  /** It hears of the others again. @returns how many events it had appended by itself, which it cuts off */
  rejoin(): number;
  kill(node: ClusterNode): Promise<void>;
  /** Starts a node that was killed: a follower, if there is a leader. */
  start(node: ClusterNode): Promise<void>;
  /** The leader gives its leadership up, stops, and is no longer a member. */
  leave(node: ClusterNode): Promise<void>;
  close(): Promise<void>;
}

interface Part {
  readonly port: number;
  service: EventStoreService;
  isRunning: boolean;
  isMember: boolean;
}

const HOST = '127.0.0.1';

export const startCluster = async (
  count: number,
  options: Pick<EventStoreServiceOptions, 'appendDelayMs' | 'gossipDelayMs'> = {},
): Promise<Cluster> => {
  const log = createEventLog();
  const nodes: Part[] = [];
  let leader: Part | undefined;
  let cutOff: Part | undefined;

  const inTouch = (): Part[] => nodes.filter((part) => part.isRunning && part !== cutOff);
  const tellEverybody = (): void => {
    const members = nodes
      .filter(({ isMember }) => isMember)
      .map((part): Member => {
        const state = leader === undefined ? 'unknown' : part === leader ? 'leader' : 'follower';
        return { host: HOST, port: part.port, state, isAlive: part.isRunning };
      });
    for (const { service } of inTouch()) service.faults.gossip(members);
  };
  const standing = (part: Part) => {
    if (leader === undefined) return { role: 'leaderless' } as const;
    if (part === leader) return { role: 'leader' } as const;
    return { role: 'follower', leader: { host: HOST, port: leader.port } } as const;
  };
  const lead = (next: Part | undefined): void => {
    leader = next;
    for (const part of inTouch()) part.service.stand(standing(part));
    tellEverybody();
  };
  const partOf = (node: ClusterNode): Part => {
    const part = nodes.find(({ port }) => port === node.port);
    if (part === undefined) throw new Error('That is a node of another cluster.');
    return part;
  };
  const stop = async (part: Part): Promise<void> => {
    part.isRunning = false;
    if (part === cutOff) cutOff = undefined;
    await part.service.close();
    if (part === leader) lead(undefined);
    else tellEverybody();
  };

  for (let n = 0; n < count; n += 1) {
    const service = await startEventStoreService({ ...options, log });
    nodes.push({ port: service.port, service, isRunning: true, isMember: true });
  }
  lead(nodes[0]);
  return {
    nodes,
    log,
    get leader() {
      return leader;
    },
    url: (seeds = nodes) => {
      const scheme = seeds.length === 1 ? 'esdb+discover' : 'esdb';
      return `${scheme}://${seeds.map(({ port }) => `${HOST}:${port}`).join(',')}?tls=false`;
    },
    beginElection: () => lead(undefined),
    elect: (node) => lead(partOf(node)),
    cutOffLeader: () => {
      cutOff = leader;
      leader?.service.stand({ role: 'deposed' });
      lead(undefined);
    },
    rejoin: () => {
      const cut = cutOff?.service.tail.length ?? 0;
      cutOff = undefined;
      lead(leader);
      return cut;
    },
    kill: (node) => stop(partOf(node)),
    start: async (node) => {
      const part = partOf(node);
      part.service = await startEventStoreService({
        ...options,
        log,
        port: part.port,
        standing: standing(part),
      });
      part.isRunning = true;
      part.isMember = true;
      tellEverybody();
    },
    leave: async (node) => {
      const part = partOf(node);
      part.isMember = false;
      await stop(part);
    },
    close: async () => {
      await Promise.all(nodes.filter(({ isRunning }) => isRunning).map(({ service }) => service.close()));
    },
  };
};
