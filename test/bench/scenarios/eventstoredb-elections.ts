import { pino } from 'pino';
import { sleep } from '../../../shared/async/backoff.ts';
import {
  createEventStoreDbEventStore,
  type EventStoreDbEventStore,
} from '../../../shared/event-store/eventstoredb/eventstoredb-event-store.ts';
import {
  assertLeads,
  createNodeClient,
  closeClient,
} from '../../../shared/event-store/eventstoredb/node-client.ts';
import {
  nodeCommand,
  startEventStoreNodes,
  type EventStoreNode,
} from '../../support/eventstoredb/event-store-nodes.ts';
import { recoverFrom } from '../../support/eventstoredb/recovery.ts';
import { lineOf, type Line } from '../measure.ts';
import type { Bench, Scenario } from './scenario.ts';

const NODES = 3;
const ROUNDS = 5;
const KILLED_MS_MAX = 1_000;
const FROZEN_MS_MAX = 3_000;
/** The interval and the timeout of asking each node whether it leads. */
const LOOK_MS = 20;
const ANSWER_MS_MAX = 500;
const HOST = '127.0.0.1';

const urlOf = (nodes: readonly EventStoreNode[]): string =>
  `esdb+discover://${nodes.map(({ port }) => `${HOST}:${port}`).join(',')}?tls=false`;

/**
 * The time from the election of another leader until the slowest of four processes appends again. All nodes are asked
 * continuously: the leader is the node that answers a request that only a leader answers.
 */
export const eventStoreDbElections: Scenario = async (bench) => {
  const command = nodeCommand();
  if (command?.includes('{seeds}') !== true) {
    process.stderr.write('eventstoredb-elections: not measured, no EVENTSTORE_COMMAND with {seeds} is set\n');
    return [];
  }
  const { nodes, stop } = await startEventStoreNodes(command, NODES);
  bench.atEnd(stop);
  const kill = (node: EventStoreNode) => ({ go: () => node.kill(), back: () => node.start() });
  const freeze = (node: EventStoreNode) => ({ go: async () => node.freeze(), back: () => node.thaw() });
  return [
    await line(bench, nodes, 'killed', kill, KILLED_MS_MAX),
    await line(bench, nodes, 'frozen', freeze, FROZEN_MS_MAX),
  ];
};

type Harm = (node: EventStoreNode) => { readonly go: () => Promise<void>; readonly back: () => void };

const line = async (
  bench: Bench,
  nodes: readonly EventStoreNode[],
  done: string,
  harm: Harm,
  goal: number,
): Promise<Line> => {
  const ours: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const old = await untilOneLeads(nodes);
    const others = nodes.filter((node) => node !== old);
    const { go, back } = harm(old);
    const open = (seeds: 'all' | 'old leader'): EventStoreDbEventStore =>
      createEventStoreDbEventStore({
        connectionString: urlOf(seeds === 'all' ? nodes : [old]),
        log: pino({ level: 'silent' }),
        recordPosition: async () => undefined,
      });
    const untilLed = async (): Promise<void> => void (await untilOneLeads(others));
    ours.push(Math.max(...(await recoverFrom(open, go, untilLed))));
    back();
    await sleep(bench.seconds * 1_000);
  }
  return lineOf({
    name: `EventStoreDB: append after the leader of three was ${done}, slowest of 4 processes`,
    unit: 'ms',
    ours,
    goal,
    atMost: true,
  });
};

/** @returns the first node that reports itself as leader */
const untilOneLeads = async (nodes: readonly EventStoreNode[]): Promise<EventStoreNode> => {
  const found = new AbortController();
  let generation = 0;
  const look = async (node: EventStoreNode): Promise<EventStoreNode> => {
    for (;;) {
      const client = createNodeClient(urlOf([node]), { address: HOST, port: node.port }, generation++);
      const isLeading = await assertLeads(client, ANSWER_MS_MAX).then(
        () => true,
        () => false,
      );
      void closeClient(client);
      if (isLeading || found.signal.aborted) return node;
      await sleep(LOOK_MS);
    }
  };
  const first = await Promise.race(nodes.map(look));
  found.abort();
  return first;
};
