import type { EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { backoffMs, sleep } from '../../async/backoff.ts';
import { causeOfNodes } from './cause.ts';
import { createClientEnds } from './client-ends.ts';
import { createFindLeader } from './find-leader.ts';
import { createNodeClients } from './node-clients.ts';
import { createTroubleLog } from './trouble-log.ts';

/** All calls wait for one search. */
export interface LeaderSearch {
  readonly current: EventStoreDBClient | undefined;
  readonly running: Promise<void> | undefined;
  readonly trouble: string | undefined;
  readonly rebuilds: number;
  start(): void;
  drop(client: EventStoreDBClient): void;
  givenUp(client: EventStoreDBClient): AbortSignal;
  close(): Promise<void>;
}

/** Between two rounds. Much shorter than gRPC's back-off, which grows to two minutes. */
const PAUSE = { baseMs: 100, capMs: 400 };

/** @throws Error when the connection string names a file that does not exist */
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
      if (leader === undefined) troubles.report(causeOfNodes(failures));
      // A call may have reported a lost connection while this round waited for other nodes.
      else if (!ends.signalOf(leader).aborted) {
        become(leader);
        clients.keepOnly(leader);
        return troubles.report(undefined);
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
