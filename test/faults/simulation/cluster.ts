import { advertisersProjection } from '../../../projections/advertisers.ts';
import type { Projection } from '../../../projections/engine/projection.ts';
import { createSnapshotStore } from '../../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../../shared/event-store/event-store.ts';
import {
  createIdempotencyStore,
  type IdempotencyStore,
} from '../../../shared/idempotency/idempotency-store.ts';
import { idSequence } from '../../../shared/postgres/sequence.ts';
import { createApiNode, noReply, type Reply, type Serve } from './api-node.ts';
import type { Send } from './client.ts';
import type { Database } from './database.ts';
import { createLogPort } from './log-port.ts';
import { createSequence, createSimulatedPool, type ChangeStatement } from './pool.ts';
import { startProjector, unpark } from './projector-node.ts';
import { FIRST_NEW_ID, type SimulatedRequest } from './request.ts';
import { quietLog } from './quiet-log.ts';
import type { SimulatedLog } from './simulated-log.ts';
import type { Process, World } from './world.ts';

/** A defect, planted in one of the ports. */
export interface Defect {
  readonly store?: (store: EventStore) => EventStore;
  readonly idempotency?: (store: IdempotencyStore) => IdempotencyStore;
  readonly projection?: (projection: Projection) => Projection;
  readonly statement?: ChangeStatement;
  /** Requests continue after their deadline as if they had not been answered. */
  readonly ignoresDeadline?: boolean;
}

export interface Cluster {
  readonly send: Send;
  /** One round of deleting expired keys. */
  purge(): void;
  /** Ends the cause of refused events, and un-parks the streams. */
  mend(): void;
}

interface ClusterOptions {
  readonly world: World;
  readonly database: Database;
  readonly log: SimulatedLog;
  readonly defect: Defect;
  readonly onNoEffect: (key: string) => void;
}

interface ApiNode {
  process: Process;
  serve: Serve;
  idempotency: IdempotencyStore;
}

/** Clocks differ by minutes: no result may depend on a node's clock. */
const API_NODES = [
  { name: 'api-0', clockSkewMs: 0 },
  { name: 'api-1', clockSkewMs: 300_000 },
  { name: 'api-2', clockSkewMs: -300_000 },
];
const PROJECTORS = ['projector-0', 'projector-1'];
/** Small, so that a schedule reaches snapshots. */
const SNAPSHOT_EVERY = 2;
const RESTART_MS = 1_500;
/** shared/http/deadline.ts */
const ANSWER_MS_MAX = 2_800;

/** Three nodes for writes and two projectors that do not know each other. A crashed node restarts. */
export const startCluster = (options: ClusterOptions): Cluster => {
  const { world, database, log, defect } = options;
  const sequence = createSequence(FIRST_NEW_ID);
  const poolOf = (process: Process) =>
    createSimulatedPool(world, process, database, { sequence, change: defect.statement });

  const keepRunning = (name: string, start: (process: Process) => void): void => {
    const process = world.start(name);
    process.onCrash(() => void world.wait(RESTART_MS).then(() => keepRunning(name, start)));
    start(process);
  };

  const nodes = new Map<string, ApiNode>();
  for (const { name, clockSkewMs } of API_NODES) {
    keepRunning(name, (process) => {
      const pool = poolOf(process);
      const { store: changeStore = same, idempotency: changeIdempotency = same } = defect;
      const idempotency = changeIdempotency(createIdempotencyStore(pool));
      const serve = createApiNode(world, process, {
        store: changeStore(createLogPort(world, process, log.store)),
        idempotency,
        snapshots: createSnapshotStore(pool, quietLog, SNAPSHOT_EVERY),
        nextAdvertiserId: idSequence(pool, 'advertiser_ids').next,
        clockSkewMs,
        onNoEffect: options.onNoEffect,
      });
      nodes.set(name, { process, serve, idempotency });
    });
  }
  for (const name of PROJECTORS) {
    keepRunning(name, (process) => {
      const { projection: change = same } = defect;
      startProjector(world, process, poolOf(process), log.view, change(advertisersProjection));
    });
  }

  const anyNode = (): ApiNode => [...nodes.values()][world.tape.choose(nodes.size)] as ApiNode;
  return {
    send: (request) => sendTo(world, anyNode(), request, defect.ignoresDeadline),
    purge: () =>
      void anyNode()
        .idempotency.purge(1_000)
        .catch(() => undefined),
    mend: () => {
      database.isMended = true;
      keepRunning('operator', (process) => {
        const parked = database.tables.parked.rows().map(([, row]) => String(row['stream']));
        void unparkAll(world, process, poolOf(process), log.store, parked);
      });
    },
  };
};

const same = <T>(unchanged: T): T => unchanged;

const unparkAll = async (
  world: World,
  process: Process,
  pool: ReturnType<typeof createSimulatedPool>,
  store: EventStore,
  streams: readonly string[],
): Promise<void> => {
  for (const stream of streams)
    await unpark(world, process, pool, createLogPort(world, process, store), stream);
};

const lost = (): Error => new Error('connection lost');

/** One HTTP request: answered, answered 503 at the deadline while its work continues, or cut. */
const sendTo = (
  world: World,
  { process, serve }: ApiNode,
  request: SimulatedRequest,
  ignoresDeadline = false,
): Promise<Reply> =>
  new Promise((resolve) => {
    if (!process.isAlive) return resolve(noReply);
    process.onCrash(() => resolve(noReply));
    let isAbandoned = false;
    const reply = serve(request, () => isAbandoned).then((run) =>
      world.call({ process, label: `reply ${run.status}`, run: () => run, refused: lost, unknown: lost }),
    );
    reply.then(resolve, () => resolve(noReply));
    const answered = reply.then(
      () => undefined,
      () => undefined,
    );
    void world.wait(ANSWER_MS_MAX, answered).then(() => {
      isAbandoned = !ignoresDeadline;
      resolve({ ...noReply, status: 503 });
    });
  });
