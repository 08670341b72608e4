import { createEventLog, type EventLog } from './event-log.ts';
import {
  startEventStoreService,
  type EventStoreService,
  type EventStoreServiceOptions,
} from './event-store-service.ts';
import type { Member } from './node-context.ts';

/** One node of a cluster. It keeps its port over all restarts. */
export interface ClusterNode {
  readonly port: number;
  readonly service: EventStoreService;
  readonly isRunning: boolean;
}

/**
 * Nodes in memory, each with its own port, that share the log of their majority. They can die, freeze, lose their
 * leadership and return. Tests start elections.
 */
export interface Cluster {
  readonly nodes: readonly ClusterNode[];
  readonly log: EventLog;
  readonly leader: ClusterNode | undefined;
  /** @param seeds the nodes in the URL; default: all */
  url(seeds?: readonly ClusterNode[]): string;
  /** From now on no node leads, and the old leader knows that. */
  beginElection(): void;
  /** Makes a node the leader of all connected nodes. */
  elect(node: ClusterNode): void;
  /** Separates the leader from the others, so that it believes that it still leads. The others have no leader. */
  cutOffLeader(): void;
  /** Reconnects it. @returns the number of events that it had appended alone, which it discards */
  rejoin(): number;
  kill(node: ClusterNode): Promise<void>;
  /** Starts a killed node, as a follower if there is a leader. */
  start(node: ClusterNode): Promise<void>;
  /** The leader resigns, stops, and leaves the cluster. */
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
  const nodeRole = (part: Part) => {
    if (leader === undefined) return { role: 'leaderless' } as const;
    if (part === leader) return { role: 'leader' } as const;
    return { role: 'follower', leader: { host: HOST, port: leader.port } } as const;
  };
  const lead = (next: Part | undefined): void => {
    leader = next;
    for (const part of inTouch()) part.service.setRole(nodeRole(part));
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
      leader?.service.setRole({ role: 'deposed' });
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
        nodeRole: nodeRole(part),
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
