import type { Command } from '../../support/eventstoredb/commands.ts';
import type { EventStoreNodes } from '../../support/eventstoredb/event-store-nodes.ts';
import { createTestStores, describeStores, type EventsIn } from '../../support/test-stores.ts';
import type { Random } from './random.ts';
import { addressOf, startTcpProxy, throughProxy } from './tcp-proxy.ts';

type Settings = Readonly<Record<string, string>> & { readonly DATABASE_URL: string };

/** The stores of an installation, and the ways to them, which fail. */
export interface HurtStores {
  readonly description: string;
  /** Straight to the stores. */
  readonly direct: Settings;
  /** Over connections that are cut and stalled. */
  readonly hurt: Settings;
  readonly faults: StoreFaults;
  /** Does one thing to one of them. */
  hurtOne(random: Random): Promise<void>;
  /** The stores themselves are well again. */
  calm(): Promise<void>;
  drop(): Promise<void>;
}

/** How many things were done to each so far. */
export interface StoreFaults {
  /** Connections cut or stalled. */
  readonly postgres: number;
  readonly eventstoredb: number;
  /** What EventStoreDB itself did wrong: answers that never came, subscriptions that ended. */
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

/** How long a node that was killed stays away, or one that is frozen stays so. Longer than an election of real nodes. */
const AWAY_MS_MAX = 12_000;

/** Kills, freezes and starts nodes, one at a time: of three, a majority is always there. */
const createNodeHurter = ({ nodes }: EventStoreNodes) => {
  let away: { readonly untilMs: number; readonly back: () => void } | undefined;
  const bringBack = (): void => {
    away?.back();
    away = undefined;
  };
  return {
    hurt: async (random: Random): Promise<boolean> => {
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

/** @param nodeCount as of `createTestStores` */
export const createHurtStores = async (events: EventsIn, nodeCount = 1): Promise<HurtStores> => {
  const stores = await createTestStores(events, nodeCount);
  const { settings, eventStore, nodes } = stores;
  const toPostgres = await startTcpProxy(addressOf(settings.DATABASE_URL));
  // Nodes of a cluster name each other: a service would go past a proxy.
  const url = nodes !== undefined && nodeCount > 1 ? undefined : settings['EVENTSTORE_URL'];
  const toEvents = url === undefined ? undefined : await startTcpProxy(addressOf(url));
  const nodeHurter = nodes && createNodeHurter(nodes);
  let inside = 0;
  return {
    description: describeStores(stores),
    direct: settings,
    hurt: {
      ...settings,
      DATABASE_URL: throughProxy(settings.DATABASE_URL, toPostgres),
      ...(url !== undefined && toEvents && { EVENTSTORE_URL: throughProxy(url, toEvents) }),
    },
    get faults() {
      return { postgres: toPostgres.faults, eventstoredb: toEvents?.faults ?? 0, inside };
    },
    hurtOne: async (random) => {
      const one = settings['EVENTSTORE_URL'] === undefined ? 0 : random.below(3);
      if (one === 0) return toPostgres.hurt(random);
      if (one === 1) return toEvents?.hurt(random);
      await eventStore?.command(chooseCommand(random));
      if (nodeHurter === undefined || (await nodeHurter.hurt(random))) inside += 1;
    },
    calm: async () => {
      nodeHurter?.calm();
      await eventStore?.command({ command: 'clear' });
    },
    drop: async () => {
      await toEvents?.close();
      await toPostgres.close();
      await stores.drop();
    },
  };
};
