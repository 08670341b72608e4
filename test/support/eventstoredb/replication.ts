import { z } from 'zod';
import { entrySchema, openEntryFiles, storedEntry, type Entry } from './entry-files.ts';
import { createEventLog, type EventLog, type LogRecord } from './event-log.ts';
import type { NodeRole } from './node-role.ts';

/**
 * Makes several processes of the in-memory service one cluster. They elect a leader and replicate its log to a majority
 * as in Raft: terms, votes for nodes with a log that is not older, entries after a common entry, commits by a majority.
 * Readers never see entries without a majority, and their appends are not acknowledged.
 *
 * EventStoreDB replicates differently: this has no gossip between nodes, no priorities, no epochs in the log, no
 * clones, and elections in 1 to 2 s. But clients see the same effects: leaders that die, freeze, return in the belief
 * that they lead, and discard events that they alone have.
 */
export interface Replication {
  /** The entries that a majority has. */
  readonly committed: EventLog;
  /** The entries of this node. A leader decides on them and appends to them. */
  readonly written: EventLog;
  /**
   * Calls back with true when a majority has all entries written so far. Calls back with false after a timeout, or if
   * another node leads.
   */
  whenCommitted(ended: (isCommitted: boolean) => void): void;
  /** Answers a message of another node. */
  answer(message: unknown): Reply;
  /** Starts taking part. @param onRoleChange called when the node's role changes, with the leader's address */
  start(onRoleChange: (nodeRole: NodeRole, leader: string | undefined) => void): void;
}

export interface ReplicationOptions {
  /** `host:port`, as the other nodes know it. */
  readonly address: string;
  /** Addresses of the other nodes. */
  readonly peers: readonly string[];
  /** The folder of the node's log and votes. */
  readonly folder: string;
  /** Sends a message to another node. @throws Error without an answer within `withinMs` */
  readonly send: (peer: string, message: Message, withinMs: number) => Promise<Reply>;
}

const messageSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('vote'),
    term: z.int(),
    from: z.string(),
    count: z.int(),
    lastTerm: z.int(),
  }),
  z.strictObject({
    kind: z.literal('entries'),
    term: z.int(),
    from: z.string(),
    /** The number of entries before these, and the term of the last one of them. */
    count: z.int(),
    lastTerm: z.int(),
    entries: z.array(entrySchema),
    committed: z.int(),
  }),
]);
export type Message = z.input<typeof messageSchema>;

export interface Reply {
  readonly term: number;
  readonly isTaken: boolean;
  /** Entries that both nodes have, as far as known. The next attempt starts there if the entries were rejected. */
  readonly count: number;
}

/** @param address `host:port` */
export const endPointOf = (address: string): { readonly host: string; readonly port: number } => {
  const [host = '', port] = address.split(':');
  return { host, port: Number(port) };
};
const TICK_MS = 50;
const HEARTBEAT_MS = 150;
const CALL_MS_MAX = 600;
/** A node that has no leader for this time, and up to as long again, starts an election. */
const ELECTION_MS = 1_000;
/** A leader without contact to a majority for this long resigns. */
const ALONE_MS_MAX = 2_000;
const COMMIT_MS_MAX = 2_000;
const MESSAGE_BYTES_MAX = 2_000_000;

const sizeOf = ({ records }: Entry): number =>
  records.reduce((bytes, { data, metadata }) => bytes + 500 + data.length + metadata.length, 100);

export const createReplication = ({ address, peers, folder, send }: ReplicationOptions): Replication => {
  const files = openEntryFiles(folder);
  const committed = createEventLog();
  const majority = Math.floor((peers.length + 1) / 2) + 1;
  let entries: Entry[] = [...files.entries];
  let { term, votedFor } = files;
  let leaderAddress: string | undefined;
  let isLeader = false;
  /** The number of entries when this node's term began, including its first one. */
  let ownFrom = 0;
  let committedCount = 0;
  let heardMs = performance.now();
  let waitMsMax = ELECTION_MS;
  let lastReported = '';
  let onRoleChange: Parameters<Replication['start']>[0] = () => undefined;
  const progress = new Map<string, { count: number; heardMs: number; isSending: boolean }>();
  const waiting = new Set<() => void>();

  const lastTerm = (count = entries.length): number => entries[count - 1]?.term ?? 0;
  const onWritten = (records: readonly LogRecord[]): void => add([{ term, records }]);
  const reopen = (): EventLog =>
    createEventLog(
      entries.flatMap(({ records }) => records),
      onWritten,
    );
  let written = reopen();
  const add = (added: readonly Entry[]): void => {
    entries.push(...added);
    files.append(added);
    replicate();
  };
  const change = (): void => {
    for (const look of waiting) look();
    const isReady = isLeader && committedCount >= ownFrom;
    const leader =
      leaderAddress !== undefined && leaderAddress !== address ? endPointOf(leaderAddress) : undefined;
    const nodeRole: NodeRole =
      leader !== undefined ? { role: 'follower', leader } : { role: isReady ? 'leader' : 'leaderless' };
    if (lastReported === JSON.stringify(nodeRole)) return;
    lastReported = JSON.stringify(nodeRole);
    onRoleChange(nodeRole, isReady ? address : leader && leaderAddress);
  };
  const commitTo = (count: number): void => {
    for (; committedCount < count; committedCount += 1) {
      committed.receive(entries[committedCount]?.records ?? []);
    }
    change();
  };
  const follow = (newTerm: number, leader?: string): void => {
    if (newTerm > term) {
      [term, votedFor] = [newTerm, undefined];
      files.keepVote(term, votedFor);
    }
    isLeader = false;
    leaderAddress = leader;
    change();
  };

  const countCommitted = (): void => {
    const counts = [entries.length, ...[...progress.values()].map(({ count }) => count)];
    const count = counts.toSorted((a, b) => b - a)[majority - 1] ?? 0;
    // Entries of earlier terms are committed only together with a later entry of this term.
    if (count > committedCount && lastTerm(count) === term) commitTo(count);
  };
  const sendEntries = async (peer: string): Promise<void> => {
    const at = progress.get(peer);
    if (at === undefined || at.isSending) return;
    at.isSending = true;
    try {
      do {
        const from = at.count;
        let bytes = 0;
        const some: Entry[] = [];
        for (const entry of entries.slice(from)) {
          if (some.length > 0 && (bytes += sizeOf(entry)) > MESSAGE_BYTES_MAX) break;
          some.push(entry);
        }
        const before = {
          term,
          from: address,
          count: from,
          lastTerm: lastTerm(from),
          committed: committedCount,
        };
        const reply = await send(
          peer,
          { kind: 'entries', ...before, entries: some.map(storedEntry) },
          CALL_MS_MAX,
        );
        if (reply.term > term) follow(reply.term);
        if (!isLeader || progress.get(peer) !== at) return;
        at.heardMs = performance.now();
        at.count = reply.isTaken ? from + some.length : Math.min(reply.count, from - 1);
        countCommitted();
      } while (at.count < entries.length);
    } catch {
      // The peer is unavailable: the next heartbeat tries again.
    } finally {
      at.isSending = false;
    }
  };
  const replicate = (): void => {
    if (isLeader) for (const peer of peers) void sendEntries(peer);
  };

  const lead = (): void => {
    isLeader = true;
    leaderAddress = address;
    for (const peer of peers) {
      progress.set(peer, { count: entries.length, heardMs: performance.now(), isSending: false });
    }
    ownFrom = entries.length + 1;
    add([{ term, records: [] }]);
  };
  const startElection = async (): Promise<void> => {
    follow(term + 1);
    votedFor = address;
    files.keepVote(term, votedFor);
    const asked = term;
    let votes = 1;
    const message = {
      kind: 'vote',
      term,
      from: address,
      count: entries.length,
      lastTerm: lastTerm(),
    } as const;
    await Promise.all(
      peers.map(async (peer) => {
        const reply = await send(peer, message, CALL_MS_MAX).catch(() => undefined);
        if (reply === undefined || term !== asked || isLeader || leaderAddress !== undefined) return;
        if (reply.term > term) follow(reply.term);
        else if (reply.isTaken && (votes += 1) === majority) lead();
      }),
    );
  };

  let tickedMs = performance.now();
  let beatMs = 0;
  const tick = (): void => {
    const nowMs = performance.now();
    if (nowMs - tickedMs > ELECTION_MS / 2) {
      // After a freeze, hear first what the others did meanwhile.
      heardMs = nowMs;
      for (const at of progress.values()) at.heardMs = nowMs;
    }
    tickedMs = nowMs;
    if (isLeader) {
      const near = [...progress.values()].filter((at) => nowMs - at.heardMs < ALONE_MS_MAX).length;
      if (near + 1 < majority) return follow(term);
      if (nowMs - beatMs < HEARTBEAT_MS) return;
      beatMs = nowMs;
      replicate();
    } else if (nowMs - heardMs > waitMsMax) {
      heardMs = nowMs;
      waitMsMax = ELECTION_MS * (1 + Math.random());
      void startElection();
    }
  };

  const takeEntries = (message: Extract<z.output<typeof messageSchema>, { kind: 'entries' }>): Reply => {
    const { count, entries: others } = message;
    if (count > entries.length || lastTerm(count) !== message.lastTerm) {
      return { term, isTaken: false, count: Math.min(entries.length, Math.max(0, count - 1)) };
    }
    const differs = others.findIndex(({ term: other }, n) => entries[count + n]?.term !== other);
    if (differs >= 0) {
      const isCut = entries.length > count + differs;
      const added = others.slice(differs);
      entries = [...entries.slice(0, count + differs), ...added];
      if (isCut) {
        files.rewrite(entries);
        written = reopen();
      } else {
        files.append(added);
        for (const { records } of added) written.receive(records);
      }
    }
    commitTo(Math.min(message.committed, count + others.length));
    return { term, isTaken: true, count: entries.length };
  };

  return {
    committed,
    get written() {
      return written;
    },
    whenCommitted: (ended) => {
      const [count, inTerm] = [entries.length, term];
      const end = (isCommitted: boolean): void => {
        clearTimeout(late);
        waiting.delete(look);
        ended(isCommitted);
      };
      const look = (): void => {
        if (!isLeader || term !== inTerm) end(false);
        else if (committedCount >= count) end(true);
      };
      const late = setTimeout(() => end(false), COMMIT_MS_MAX);
      waiting.add(look);
      look();
    },
    answer: (sent) => {
      const message = messageSchema.parse(sent);
      if (message.term < term) return { term, isTaken: false, count: entries.length };
      if (message.kind === 'entries') {
        heardMs = performance.now();
        follow(message.term, message.from);
        return takeEntries(message);
      }
      if (message.term > term) follow(message.term);
      const isNotOlder =
        message.lastTerm > lastTerm() || (message.lastTerm === lastTerm() && message.count >= entries.length);
      const isTaken = isNotOlder && (votedFor === undefined || votedFor === message.from);
      if (isTaken) {
        heardMs = performance.now();
        votedFor = message.from;
        files.keepVote(term, votedFor);
      }
      return { term, isTaken, count: entries.length };
    },
    start: (report) => {
      onRoleChange = report;
      setInterval(tick, TICK_MS);
    },
  };
};
