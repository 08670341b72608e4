import { REPLAY_HOURS } from '../../../shared/idempotency/claim.ts';
import { check } from './check.ts';
import { checkpointProblems } from './check-read-model.ts';
import { sendUntilDefinite, type Attempt } from './client.ts';
import { startCluster, type Cluster, type Defect } from './cluster.ts';
import { createDatabase } from './database.ts';
import type { Operation, Schedule } from './operation.ts';
import { requestOf, type SimulatedRequest } from './request.ts';
import { createSimulatedLog } from './simulated-log.ts';
import { createTape } from './tape.ts';
import { createWorld, type World } from './world.ts';

export interface Outcome {
  /** Empty for a correct schedule. */
  readonly problems: readonly string[];
  /** The number of port calls. */
  readonly steps: number;
  readonly story: readonly string[];
}

const REPLAY_MS = REPLAY_HOURS * 3_600_000;

/** Runs one schedule to its end and checks the result. */
export const simulate = async (
  { operations, tape }: Schedule,
  { defect = {}, keepStory = false }: { readonly defect?: Defect; readonly keepStory?: boolean } = {},
): Promise<Outcome> => {
  const world = createWorld(createTape(tape), keepStory);
  const log = await createSimulatedLog({ now: () => world.now });
  const problems: string[] = [];
  const database = createDatabase(
    () => world.now,
    (tables) => problems.push(...checkpointProblems(tables, log.view.events)),
  );
  const history: Attempt[] = [];
  const withoutEffect = new Set<string>();
  const onNoEffect = (key: string): void => void withoutEffect.add(key);
  const cluster = startCluster({ world, database, log, defect, onNoEffect });
  operations.forEach((operation, index) => act({ world, cluster, history }, operation, index));
  // Just before, at and just after the time when the first keys expire.
  for (let round = 0; round < 3; round += 1) {
    void world.wait(REPLAY_MS - 1_500 + round * 1_500 + world.tape.choose(200)).then(cluster.purge);
  }
  // Once while commands run, and once more for streams parked later.
  void world.wait(200 * world.tape.choose(8)).then(cluster.mend);
  const ended = await world.run();
  cluster.mend();
  if (!ended || !(await world.run())) problems.push('the schedule does not end');
  else problems.push(...check({ history, events: log.view.events, tables: database.tables, withoutEffect }));
  return { problems, steps: world.steps, story: world.story };
};

interface Stage {
  readonly world: World;
  readonly cluster: Cluster;
  readonly history: Attempt[];
}

/** Sends the command of one key, as its buyer does. */
const act = (stage: Stage, operation: Operation, index: number): void => {
  const { world, cluster, history } = stage;
  const request = requestOf(operation, index, `value-${index}`);
  for (let sender = 0; sender < operation.senders; sender += 1) void sendAndRepeat(stage, operation, request);
  if (operation.isKeyReused) {
    const other = requestOf({ ...operation, kind: 'rename' }, index, `other-${index}`);
    void sendUntilDefinite(world, cluster.send, history, other);
  }
};

const sendAndRepeat = async (
  { world, cluster, history }: Stage,
  { repeated }: Operation,
  request: SimulatedRequest,
): Promise<void> => {
  const { send } = cluster;
  const sentAt = world.now;
  const isLateRetry = repeated === 'late, when unknown';
  await sendUntilDefinite(world, send, history, request, isLateRetry ? 1 : undefined);
  if (repeated === 'never') return;
  if (repeated !== 'soon') {
    const edge = repeated === 'after 24 h' ? world.now + REPLAY_MS : sentAt + REPLAY_MS - 1;
    await world.wait(edge - world.now - world.tape.choose(4) * 500);
  }
  await sendUntilDefinite(world, send, history, request);
};
