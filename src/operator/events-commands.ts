import { openBackbone } from '../composition.ts';
import { EMBEDDED, openEventStore, type OpenedEventStore } from '../open-event-store.ts';
import type { Config } from '../shared/config.ts';
import { createLog } from '../shared/log.ts';
import { operatorPatience } from '../shared/patience.ts';
import { command, type Command, type Ending, type Told, type Tools } from './command.ts';
import { checkpointPath, fileCheckpoint } from './event-move/copy-checkpoint.ts';
import { copyEvents, SourceWrittenError } from './event-move/copy-events.ts';
import { verifyEvents, type Verification } from './event-move/verify-events.ts';
import { rebuildOffline } from './read-model-commands.ts';
import { WordsError } from './words.ts';

/** The commands on whole event stores. */

const stores = {
  from: { type: 'string', value: 'STORE', needed: true },
  to: { type: 'string', value: 'STORE', needed: true },
} as const;

interface Stores {
  readonly from: string;
  readonly to: string;
}

const storesOf = ({
  from = '',
  to = '',
}: {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}): Stores => {
  if (from === to) throw new WordsError('--from and --to are the same store');
  return { from, to };
};

const eventsCopy = command({
  name: 'events copy',
  places: [],
  options: {
    ...stores,
    checkpoint: {
      type: 'string',
      value: 'FILE',
      about: 'Where it remembers how far it is. Default: a file in DATA_DIR.',
    },
    'no-rebuild': { type: 'boolean', default: false, about: 'Leaves the read models alone.' },
  },
  about:
    'Copies the whole history into an empty store, verifies it, and makes the read models anew from it. The service ' +
    'is stopped meanwhile. Killed, it goes on where it was when it is run again.',
  statuses: {
    0: 'copied, and nothing differs',
    1: 'they differ, streams cannot be applied, or it could not be done',
  },
  understand: (_, given) => {
    const { from, to } = storesOf(given);
    return async function* (tools) {
      const config = tools.config();
      const checkpoint = fileCheckpoint(given.checkpoint ?? checkpointPath(config.DATA_DIR, from, to));
      const ending = yield* withStores({ from, to }, config, async function* (source, target) {
        await refuseWhileServed(source, 'source');
        await refuseWhileServed(target, 'target');
        const line = tools.progress('copied');
        const { events, copied } = await copyEvents({
          from: source.store,
          to: target.store,
          checkpoint,
          onProgress: line.update,
        });
        line.end();
        const earlier = events - copied;
        yield {
          value: { step: 'copied', events, copied, earlier },
          text: `${events} events: ${copied} offered by this run, ${earlier} were there from an earlier one`,
        };
        return yield* verification(source, target, tools);
      });
      if (ending === 'amiss') return 'amiss';
      await checkpoint.remove();
      return given['no-rebuild'] ? undefined : yield* rebuildAll(installationOf(config, to), tools);
    };
  },
});

const eventsVerify = command({
  name: 'events verify',
  places: [],
  options: stores,
  about: 'Compares two stores by count and checksum of every stream.',
  isQuestion: true,
  statuses: { 0: 'nothing differs', 1: 'they differ', 2: 'it could not be found out' },
  understand: (_, given) => {
    const { from, to } = storesOf(given);
    return (tools) =>
      withStores({ from, to }, tools.config(), (source, target) => verification(source, target, tools));
  },
});

export const eventCommands: readonly Command[] = [eventsCopy, eventsVerify];

type Telling = AsyncGenerator<Told, Ending>;

/** With the service stopped. */
async function* rebuildAll(config: Config, tools: Tools): Telling {
  const backbone = await openBackbone(config, 'exchange-operator', createLog('silent'), operatorPatience);
  try {
    await backbone.migrate();
    const { value, text, ending } = await rebuildOffline(backbone, tools, false);
    yield { value: { step: 'read-models', ...value }, text };
    return ending;
  } finally {
    await backbone.close();
  }
}

/**
 * The installation whose events are at `to` now. Without EVENTSTORE_URL read models are where the events are, so a
 * Postgres names both; EventStoreDB goes with the Postgres of the settings.
 */
const installationOf = (config: Config, to: string): Config => {
  const { DATABASE_URL: _database, EVENTSTORE_URL: _store, ...rest } = config;
  if (to === EMBEDDED) return rest;
  return to.startsWith('postgres') ? { ...rest, DATABASE_URL: to } : { ...config, EVENTSTORE_URL: to };
};

async function* withStores(
  { from, to }: Stores,
  config: Config,
  work: (source: OpenedEventStore, target: OpenedEventStore) => Telling,
): Telling {
  const log = createLog('silent');
  const source = await openEventStore(from, config, log);
  try {
    const target = await openEventStore(to, config, log);
    try {
      return yield* work(source, target);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Known of a Postgres only; whatever is written all the same is noticed while copying. */
const refuseWhileServed = async (opened: OpenedEventStore, which: string): Promise<void> => {
  const services = (await opened.services()) ?? 0;
  if (services > 0) {
    throw new SourceWrittenError(
      `${services} processes of the service run on the ${which}'s database: stop them, then copy`,
    );
  }
};

async function* verification(source: OpenedEventStore, target: OpenedEventStore, tools: Tools): Telling {
  const line = tools.progress('verified');
  const result = await verifyEvents(source.store, target.store, line.update);
  line.end();
  yield { value: { step: 'verified', ...result }, text: describeVerification(result) };
  return result.same ? undefined : 'amiss';
}

const changing = 'they differed, and do no longer where it was looked for: one of them is being written';

const describeVerification = ({ source, target, same, differences }: Verification): string =>
  [
    `source: ${source.events} events in ${source.streams} streams`,
    `target: ${target.events} events in ${target.streams} streams`,
    same ? '0 differences' : differences.length > 0 ? 'they differ, first of all here:' : changing,
    ...differences.map(({ stream, revision, problem }) => `  ${stream}@${revision}: ${problem}`),
  ].join('\n');
