import type { Command } from '../../support/eventstoredb/commands.ts';
import type { EventStoreNodes } from '../../support/eventstoredb/event-store-nodes.ts';
import { createTestStores, describeStores, type EventsIn } from '../../support/test-stores.ts';
import type { Random } from './random.ts';
import { addressOf, startTcpProxy, throughProxy } from './tcp-proxy.ts';

type Settings = Readonly<Record<string, string>> & { readonly DATABASE_URL: string };

/** The stores of an installation, behind connections that fail. */
export interface FaultyStores {
  readonly description: string;
  /** Direct connections to the stores. */
  readonly direct: Settings;
  /** Connections that are cut and stalled. */
  readonly faulty: Settings;
  readonly faults: StoreFaults;
  /** Injects one fault into one of the stores. */
  injectFault(random: Random): Promise<void>;
  /** Ends the faults inside the stores. */
  calm(): Promise<void>;
  drop(): Promise<void>;
}

/** Counts of injected faults. */
export interface StoreFaults {
  /** Connections cut or stalled. */
  readonly postgres: number;
  readonly eventstoredb: number;
  /** Faults inside EventStoreDB: missing answers, ended subscriptions, stopped nodes. */
  readonly inside: number;
}

export const totalOf = ({ postgres, eventstoredb, inside }: StoreFaults): number =>
  postgres + eventstoredb + inside;

const appendFaults = [
  'mute',
  'mute-after-commit',
  'reset',
  'reset-after-commit',
  'timeout',
  'timeout-after-commit',
  'unavailable',
  'not-ready',
] as const;
const readFaults = ['mute', 'reset', 'unavailable'] as const;
const drops = ['end', 'cancelled', 'too-slow', 'unavailable'] as const;
const LATE_MS_MAX = 4_000;

const chooseCommand = (random: Random): Command => {
  const choice = random.below(10);
  if (choice < 5) {
    return { command: 'inject', injection: { fault: random.pick(appendFaults), kinds: ['append'] } };
  }
  if (choice < 7) {
    const delayMs = random.below(LATE_MS_MAX);
    return { command: 'inject', injection: { fault: 'late-reply', delayMs, kinds: ['append'] } };
  }
  if (choice < 8) {
    const kinds = ['read-stream', 'read-all'] as const;
    return { command: 'inject', injection: { fault: random.pick(readFaults), kinds: [...kinds] } };
  }
  return { command: 'drop-subscriptions', how: random.pick(drops) };
};

/** How long a node is killed or frozen. Longer than an election of real nodes. */
const AWAY_MS_MAX = 12_000;

/** Kills, freezes and starts one node at a time, so that a majority of three always runs. */
const createNodeFaults = ({ nodes }: EventStoreNodes) => {
  let away: { readonly untilMs: number; readonly back: () => void } | undefined;
  const bringBack = (): void => {
    away?.back();
    away = undefined;
  };
  return {
    injectFault: async (random: Random): Promise<boolean> => {
      if (away !== undefined) {
        if (performance.now() < away.untilMs) return false;
        bringBack();
      }
      const node = random.pick(nodes);
      const untilMs = performance.now() + random.below(AWAY_MS_MAX);
      if (random.below(2) === 0) {
        await node.kill();
        away = { untilMs, back: () => node.start() };
      } else {
        node.freeze();
        away = { untilMs, back: () => node.thaw() };
      }
      return true;
    },
    calm: bringBack,
  };
};

/** @param nodeCount as for `createTestStores` */
export const createFaultyStores = async (events: EventsIn, nodeCount = 1): Promise<FaultyStores> => {
  const stores = await createTestStores(events, nodeCount);
  const { settings, eventStore, nodes } = stores;
  const toPostgres = await startTcpProxy(addressOf(settings.DATABASE_URL));
  // Cluster nodes name each other's addresses, so a service would bypass a proxy.
  const url = nodes !== undefined && nodeCount > 1 ? undefined : settings['EVENTSTORE_URL'];
  const toEvents = url === undefined ? undefined : await startTcpProxy(addressOf(url));
  const nodeFaults = nodes && createNodeFaults(nodes);
  let inside = 0;
  return {
    description: describeStores(stores),
    direct: settings,
    faulty: {
      ...settings,
      DATABASE_URL: throughProxy(settings.DATABASE_URL, toPostgres),
      ...(url !== undefined && toEvents && { EVENTSTORE_URL: throughProxy(url, toEvents) }),
    },
    get faults() {
      return { postgres: toPostgres.faults, eventstoredb: toEvents?.faults ?? 0, inside };
    },
    injectFault: async (random) => {
      const one = settings['EVENTSTORE_URL'] === undefined ? 0 : random.below(3);
      if (one === 0) return toPostgres.injectFault(random);
      if (one === 1) return toEvents?.injectFault(random);
      await eventStore?.command(chooseCommand(random));
      if (nodeFaults === undefined || (await nodeFaults.injectFault(random))) inside += 1;
    },
    calm: async () => {
      nodeFaults?.calm();
      await eventStore?.command({ command: 'clear' });
    },
    drop: async () => {
      await toEvents?.close();
      await toPostgres.close();
      await stores.drop();
    },
  };
};
