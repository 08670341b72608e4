import { openInstallation } from '../app/installation.ts';
import { EMBEDDED, openEventStore, type OpenedEventStore } from './open-event-store.ts';
import type { Config } from '../app/config.ts';
import { createLog } from '../app/log.ts';
import { operatorStoreTimeouts } from '../app/store-timeouts.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { checkpointPath, fileCheckpoint } from './event-move/copy-checkpoint.ts';
import { copyEvents, SourceWrittenError } from './event-move/copy-events.ts';
import { verifyEvents, type Verification } from './event-move/verify-events.ts';
import { rebuildOffline } from './read-model-commands.ts';
import { START } from '../shared/event-store/event-store.ts';
import { ArgumentsError } from './parse-args.ts';
import { storedKeySets } from '../shared/personal-data/personal-keys.ts';

interface Stores {
  readonly from: string;
  readonly to: string;
}

interface CopyOptions extends Stores {
  readonly checkpoint?: string;
  readonly rebuild: boolean;
}

export const addEventCommands = (program: OperatorCommand, tools: Tools): void => {
  const events = program.command('events').description('Copies and compares event stores.');

  events
    .command('copy')
    .description(
      'Copies the whole history into an empty store, verifies the copy, and rebuilds the read models. Stop the ' +
        'service first. Run it again after an interruption: it resumes the copy.',
    )
    .requiredOption('--from <STORE>', 'the source')
    .requiredOption('--to <STORE>', 'the target')
    .option('--checkpoint <FILE>', 'File for the progress of the copy. Default: a file in DATA_DIR.')
    .option(
      '--no-rebuild',
      'Does not rebuild the read models, and does not check for the keys of personal data.',
    )
    .exits({
      0: 'copied without differences',
      1: 'the stores differ, streams cannot be applied, or the copy failed',
    })
    .example('--from embedded --to postgres://exchange@db.example.com/exchange')
    .action((given: CopyOptions) => copy(given, tools));

  events
    .command('verify')
    .description('Compares two stores by count and checksum of every stream.')
    .requiredOption('--from <STORE>', 'the source')
    .requiredOption('--to <STORE>', 'the target')
    .exits({ 0: 'no differences', 1: 'the stores differ', 2: 'the comparison failed' })
    .example('--from embedded --to esdb://127.0.0.1:2113?tls=false')
    .action(async (stores: Stores) => {
      const isSame = await withStores(stores, tools.config(), (source, target) =>
        verify(source, target, tools),
      );
      if (!isSame) tools.fail();
    });
};

const copy = async (given: CopyOptions, tools: Tools): Promise<void> => {
  const { from, to } = given;
  const config = tools.config();
  const checkpoint = fileCheckpoint(given.checkpoint ?? checkpointPath(config.DATA_DIR, from, to));
  const isSame = await withStores(given, config, async (source, target) => {
    await refuseWhileServed(source, 'source');
    await refuseWhileServed(target, 'target');
    await refuseEmptySource(source);
    if (given.rebuild) await refuseWithoutKeys(given, config, source, target);
    const { events, copied } = await tools.withProgress('copying', (onProgress) =>
      copyEvents({ from: source.store, to: target.store, checkpoint, onProgress }),
    );
    const earlier = events - copied;
    tools.print(
      { step: 'copied', events, copied, earlier },
      `${events} events: ${copied} offered by this run, ${earlier} copied by earlier runs`,
    );
    return verify(source, target, tools);
  });
  if (!isSame) return tools.fail();
  await checkpoint.remove();
  if (given.rebuild) await rebuildAll(installationOf(config, to), tools);
};

/** The service must be stopped. */
const rebuildAll = async (config: Config, tools: Tools): Promise<void> => {
  const installation = await openInstallation(
    config,
    'exchange-operator',
    createLog('silent'),
    operatorStoreTimeouts,
  );
  try {
    await installation.migrate();
    const print: Tools['print'] = (value, text) => tools.print({ step: 'read-models', ...value }, text);
    await rebuildOffline(installation, { ...tools, print }, false);
  } finally {
    await installation.close();
  }
};

/** Without EVENTSTORE_URL, one Postgres has both events and read models, so its address names both. */
const installationOf = (config: Config, to: string): Config => {
  const { DATABASE_URL: _database, EVENTSTORE_URL: _store, ...rest } = config;
  if (to === EMBEDDED) return rest;
  return to.startsWith('postgres') ? { ...rest, DATABASE_URL: to } : { ...config, EVENTSTORE_URL: to };
};

/** @throws ArgumentsError when both stores are the same */
const withStores = async <T>(
  { from, to }: Stores,
  config: Config,
  work: (source: OpenedEventStore, target: OpenedEventStore) => Promise<T>,
): Promise<T> => {
  if (from === to) throw new ArgumentsError('--from and --to are the same store');
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

/** Only Postgres can list running services. `copyEvents` detects writes to any other store. */
const refuseWhileServed = async (opened: OpenedEventStore, which: string): Promise<void> => {
  const services = (await opened.services()) ?? 0;
  if (services > 0) {
    throw new SourceWrittenError(
      `${services} processes of the service run on the ${which}'s database: stop them, then copy`,
    );
  }
};

/** Most often another DATA_DIR or database was meant: "0 differences" would then hide that nothing was moved. */
const refuseEmptySource = async ({ store }: OpenedEventStore): Promise<void> => {
  if ((await store.head()) === START) {
    throw new ArgumentsError('the source of --from contains no events: nothing was copied');
  }
};

/** Keys of personal data are in Postgres, not in the log: read models cannot be rebuilt without them. */
const refuseWithoutKeys = async (
  { from, to }: Stores,
  config: Config,
  source: OpenedEventStore,
  target: OpenedEventStore,
): Promise<void> => {
  const own = config.DATABASE_URL ?? EMBEDDED;
  if ((source.pool === undefined ? own : from) === (target.pool === undefined ? own : to)) return;
  const other =
    source.pool === undefined || target.pool === undefined
      ? await openEventStore(own, config, createLog('silent'))
      : undefined;
  try {
    const [needed, found] = await Promise.all(
      [source, target].map(async ({ pool = other?.pool }) =>
        pool === undefined ? undefined : storedKeySets(pool),
      ),
    );
    const missing = [...(needed ?? [])].filter((id) => found?.has(id) !== true).length;
    if (missing === 0) return;
    throw new Error(
      `Nothing was copied: the database of the target lacks ${missing} sets of keys, so personal data in the copied ` +
        'events could not be read. Copy the tables personal_keys and secrets to it first, with pg_dump and pg_restore.',
    );
  } finally {
    await other?.close();
  }
};

const verify = async (source: OpenedEventStore, target: OpenedEventStore, tools: Tools): Promise<boolean> => {
  const result = await tools.withProgress('comparing', (onProgress) =>
    verifyEvents(source.store, target.store, onProgress),
  );
  tools.print({ step: 'verified', ...result }, describeVerification(result));
  return result.same;
};

const changing =
  'the stores differed, but no longer do at the compared streams: another process appends to one of them';

const describeVerification = ({ source, target, same, differences }: Verification): string =>
  [
    `source: ${source.events} events in ${source.streams} streams`,
    `target: ${target.events} events in ${target.streams} streams`,
    same ? '0 differences' : differences.length > 0 ? 'the stores differ; the first differences:' : changing,
    ...differences.map(({ stream, revision, problem }) => `  ${stream}@${revision}: ${problem}`),
  ].join('\n');
