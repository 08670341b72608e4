import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { backoffMs, sleep } from '../../async/backoff.ts';
import { causeOfNodes } from './cause.ts';
import { createClientEnds } from './client-ends.ts';
import { createFindLeader } from './find-leader.ts';
import { createNodeClients } from './node-clients.ts';
import { createTroubleLog } from './trouble-log.ts';

/** The leader's client, and the search for another one: one search, which all calls wait for. */
export interface LeaderSearch {
  /** The leader's client as far as is known; undefined when its connection is lost. */
  readonly current: EventStoreDBClient | undefined;
  /** Resolves when a leader was found; undefined when none is looked for. */
  readonly running: Promise<void> | undefined;
  /** Why there is no leader, for people; undefined while there is one. */
  readonly trouble: string | undefined;
  /** Clients that were given up so far. */
  readonly rebuilds: number;
  start(): void;
  /** The connection of this client is lost. */
  drop(client: EventStoreDBClient): void;
  /** Fires when the client is given up. */
  givenUp(client: EventStoreDBClient): AbortSignal;
  close(): Promise<void>;
}

/** Between two rounds of questions to all nodes. Far less than the back-off of gRPC, which grows to two minutes. */
const PAUSE = { baseMs: 100, capMs: 400 };

/** @throws Error when the connection string names a file that is not there */
export const createLeaderSearch = (
  connectionString: string,
  log: Pick<Logger, 'info' | 'warn'>,
): LeaderSearch => {
  const closing = new AbortController();
  const troubles = createTroubleLog(log, 'EventStoreDB');
  const ends = createClientEnds();
  let current: EventStoreDBClient | undefined;
  let running: Promise<void> | undefined;
  let rebuilds = 0;
  const become = (next: EventStoreDBClient | undefined): void => {
    if (current !== undefined && current !== next) rebuilds += 1;
    current = next;
  };
  const clients = createNodeClients(connectionString, (client) => {
    if (client === current) become(undefined);
    ends.giveUp(client);
  });
  const findLeader = createFindLeader(connectionString, clients);

  const search = async (): Promise<void> => {
    for (let round = 1; !closing.signal.aborted; round += 1) {
      const { leader, failures } = await findLeader(current);
      if (closing.signal.aborted) break;
      if (leader === undefined) troubles.tell(causeOfNodes(failures));
      // A call may have lost its connection while the other nodes were waited for.
      else if (!ends.signalOf(leader).aborted) {
        become(leader);
        clients.keepOnly(leader);
        return troubles.tell(undefined);
      }
      await sleep(PAUSE.baseMs + backoffMs(round, PAUSE), closing.signal);
    }
    clients.keepOnly(undefined);
  };

  return {
    get current() {
      return current;
    },
    get running() {
      return running;
    },
    get trouble() {
      return troubles.current;
    },
    get rebuilds() {
      return rebuilds;
    },
    start: () => {
      if (closing.signal.aborted) return;
      running ??= search().finally(() => {
        running = undefined;
      });
    },
    drop: (client) => clients.drop(client),
    givenUp: (client) => ends.signalOf(client),
    close: async () => {
      closing.abort();
      clients.keepOnly(undefined);
      await running;
      await ends.closed();
    },
  };
};
