import { openBackbone } from '../composition.ts';
import { EMBEDDED, openEventStore, type OpenedEventStore } from '../open-event-store.ts';
import { readConfig, type Config } from '../shared/config.ts';
import { createLog } from '../shared/log.ts';
import { checkpointPath, fileCheckpoint } from './event-move/copy-checkpoint.ts';
import { copyEvents, SourceWrittenError } from './event-move/copy-events.ts';
import { createProgressLine } from './event-move/progress-line.ts';
import { verifyEvents, type Verification } from './event-move/verify-events.ts';
import { rebuildOffline } from './read-model-commands.ts';

/** The commands on whole event stores. Each resolves to whether all is well; a person reads what they print. */

interface Stores {
  readonly from: string;
  readonly to: string;
}

interface CopyCommand extends Stores {
  readonly checkpoint: string | undefined;
  readonly rebuild: boolean;
}

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

/** Copies, verifies and rebuilds. */
export const eventsCopy = async ({ from, to, checkpoint: path, rebuild }: CopyCommand): Promise<boolean> => {
  const config = readConfig(process.env);
  const checkpoint = fileCheckpoint(path ?? checkpointPath(config.DATA_DIR, from, to));
  const isSame = await withStores({ from, to }, config, async (source, target) => {
    await refuseWhileServed(source, 'source');
    await refuseWhileServed(target, 'target');
    const line = createProgressLine('copied');
    const { events, copied } = await copyEvents({
      from: source.store,
      to: target.store,
      checkpoint,
      onProgress: line.update,
    });
    line.end();
    print(
      `${events} events: ${copied} offered by this run, ${events - copied} were there from an earlier one`,
    );
    return verifyAndPrint(source, target);
  });
  if (!isSame) return false;
  await checkpoint.remove();
  return rebuild ? await rebuildAll(installationOf(config, to)) : true;
};

export const eventsVerify = (stores: Stores): Promise<boolean> =>
  withStores(stores, readConfig(process.env), verifyAndPrint);

/** With the service stopped. */
const rebuildAll = async (config: Config): Promise<boolean> => {
  const backbone = await openBackbone(config, 'exchange-operator', createLog('silent'));
  try {
    await backbone.migrate();
    return await rebuildOffline(backbone, { print, json: false, allowParked: false });
  } finally {
    await backbone.close();
  }
};

/**
 * The installation whose events are at `to` now. Without EVENTSTORE_URL read models are where the events are, so a
 * Postgres names both; EventStoreDB goes with the Postgres of the settings.
 */
const installationOf = (config: Config, to: string): Config => {
  const { DATABASE_URL: _database, EVENTSTORE_URL: _store, ...rest } = config;
  if (to === EMBEDDED) return rest;
  return to.startsWith('postgres') ? { ...rest, DATABASE_URL: to } : { ...config, EVENTSTORE_URL: to };
};

const withStores = async (
  { from, to }: Stores,
  config: Config,
  work: (source: OpenedEventStore, target: OpenedEventStore) => Promise<boolean>,
): Promise<boolean> => {
  const log = createLog('silent');
  const source = await openEventStore(from, config, log);
  try {
    const target = await openEventStore(to, config, log);
    try {
      return await work(source, target);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
};

/** Known of a Postgres only; whatever is written all the same is noticed while copying. */
const refuseWhileServed = async (opened: OpenedEventStore, which: string): Promise<void> => {
  const services = (await opened.services()) ?? 0;
  if (services > 0) {
    throw new SourceWrittenError(
      `${services} processes of the service run on the ${which}'s database: stop them, then copy`,
    );
  }
};

const verifyAndPrint = async (source: OpenedEventStore, target: OpenedEventStore): Promise<boolean> => {
  const line = createProgressLine('verified');
  const result = await verifyEvents(source.store, target.store, line.update);
  line.end();
  print(describeVerification(result));
  return result.same;
};

const changing = 'they differed, and do no longer where it was looked for: one of them is being written';

const describeVerification = ({ source, target, same, differences }: Verification): string =>
  [
    `source: ${source.events} events in ${source.streams} streams`,
    `target: ${target.events} events in ${target.streams} streams`,
    same ? '0 differences' : differences.length > 0 ? 'they differ, first of all here:' : changing,
    ...differences.map(({ stream, revision, problem }) => `  ${stream}@${revision}: ${problem}`),
  ].join('\n');
