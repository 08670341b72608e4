import type { Backbone } from '../app/composition.ts';
import { migrations } from '../migrations/index.ts';
import { allProjections } from '../projections/all-projections.ts';
import type { ReadModelComparison, RowDifference } from '../projections/engine/copy/compare-copy.ts';
import {
  cancelOnline,
  isRebuildable,
  rebuildOnline,
  verifyOnline,
  type OnlineOptions,
} from '../projections/engine/copy/online-rebuild.ts';
import type { Projection } from '../projections/engine/projection.ts';
import { createLog } from '../app/log.ts';
import { version } from '../app/version.ts';
import type { OperatorCommand, Tools } from './command.ts';
import { addStatusCommand } from './read-model-status.ts';
import { rebuildReadModels } from './rebuild-read-models.ts';
import { WordsError } from './words.ts';

const rebuildable = allProjections.filter(isRebuildable);

/** @param names none: every read model that can be rebuilt beside the live one @throws WordsError */
const namedReadModels = (names: readonly string[]): readonly Projection[] => {
  if (names.length === 0) return rebuildable;
  return [...new Set(names)].map((name) => {
    const found = rebuildable.find((one) => one.name === name);
    if (found === undefined) {
      const isOther = allProjections.some((one) => one.name === name);
      const problem = isOther ? 'is not made of the log alone' : 'is no read model';
      throw new WordsError(`${name} ${problem}; there are: ${rebuildable.map((one) => one.name).join(', ')}`);
    }
    return found;
  });
};

interface RebuildOptions {
  readonly allowParked?: boolean;
  readonly cancel?: boolean;
  readonly offline?: boolean;
}

export const addReadModelCommands = (program: OperatorCommand, tools: Tools): void => {
  const group = program.command('read-models').description('Read models, beside a running service.');
  addStatusCommand(group, tools);

  group
    .command('rebuild')
    .description(
      'Rebuilds read models beside the live ones while the service runs, and puts them in their place, each at once; ' +
        'default: every one. Killed, it goes on where it was when it is run again; Ctrl-C drops what it has made.',
    )
    .argument('[NAME...]')
    .option('--allow-parked', 'Also one that leaves out streams that the live one has.')
    .option('--cancel', 'Only drops what a killed run has left.')
    .option(
      '--offline',
      'With the service stopped, after the log was replaced: empties every read model and fills it from the log that ' +
        'is there now. Exit status 1 when streams cannot be applied, unless --allow-parked.',
    )
    .exits({ 1: 'one could not be put in place; the others are all the same' })
    .action(async (names: readonly string[], { allowParked = false, cancel, offline }: RebuildOptions) => {
      const readModels = namedReadModels(names);
      if (offline === true) {
        if (cancel === true || names.length > 0) {
          throw new WordsError('--offline rebuilds every read model: it takes no name and no --cancel');
        }
        await rebuildOffline(await tools.backbone(), tools, allowParked);
      } else if (cancel === true) await cancelAll(tools, readModels);
      else await rebuildAll(tools, readModels, allowParked);
    });

  group
    .command('verify')
    .description(
      'Rebuilds read models beside the live ones while the service runs, and names the rows in which they differ.',
    )
    .argument('[NAME...]')
    .exits({ 0: 'none differs', 1: 'some do', 2: 'it could not be found out' })
    .action((names: readonly string[]) => verifyAll(tools, namedReadModels(names)));
};

/** @throws Error that names those that were not put in place */
const rebuildAll = async (
  tools: Tools,
  readModels: readonly Projection[],
  withParked: boolean,
): Promise<void> => {
  const backbone = await tools.backbone();
  await eachOf(tools, readModels, async (projection, signal) => {
    const { result, seconds } = await timed(backbone, tools, projection, signal, (options) =>
      rebuildOnline(options, projection, withParked),
    );
    tools.print(
      { ...result, switched: true, seconds },
      `${projection.name}: rebuilt in ${seconds} s and put in place at ${result.position}` +
        `${result.resumed ? ', begun by an earlier run' : ''}; ${describe(result, 'before that, ')}`,
    );
  });
};

/** @throws Error that names those that could not be verified */
const verifyAll = async (tools: Tools, readModels: readonly Projection[]): Promise<void> => {
  const backbone = await tools.backbone();
  await eachOf(tools, readModels, async (projection, signal) => {
    const { result, seconds } = await timed(backbone, tools, projection, signal, (options) =>
      verifyOnline(options, projection),
    );
    tools.print(
      { ...result, seconds },
      `${projection.name}: ${describe(result)} at ${result.position}, in ${seconds} s`,
    );
    if (result.differences > 0) tools.fail();
  });
};

const cancelAll = async (tools: Tools, readModels: readonly Projection[]): Promise<void> => {
  const { databaseUrl } = await tools.backbone();
  await eachOf(tools, readModels, async ({ name }) => {
    const dropped = await cancelOnline(databaseUrl, name);
    tools.print(
      { readModel: name, dropped },
      dropped ? `${name}: dropped what an earlier run had left` : undefined,
    );
  });
};

/**
 * With the service stopped, from whatever log there is now. Fails the command when streams are parked that must not be.
 * @throws ServiceRunningError
 */
export const rebuildOffline = async (
  backbone: Backbone,
  { withProgress, print, fail }: Tools,
  withParked: boolean,
): Promise<void> => {
  const { readModels, parkedStreams } = await withProgress('read models', (onProgress) =>
    rebuildReadModels(backbone, createLog('silent'), onProgress),
  );
  print(
    { readModels, parkedStreams },
    `read models made anew: ${readModels.join(', ')}; ${parkedStreams} streams are parked`,
  );
  if (parkedStreams > 0 && !withParked) fail();
};

/** One after the other; one that fails does not keep the others from it. @throws Error that says what failed */
const eachOf = async (
  tools: Tools,
  readModels: readonly Projection[],
  work: (projection: Projection, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const failed: string[] = [];
  const { signal, letGo } = interruptible();
  try {
    for (const projection of readModels) {
      signal.throwIfAborted();
      try {
        await work(projection, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const message = error instanceof Error ? error.message : String(error);
        failed.push(`${projection.name}: ${message}`);
        tools.print({ readModel: projection.name, error: message }, undefined);
      }
    }
  } finally {
    letGo();
  }
  if (failed.length > 0) throw new Error(failed.join('\n'));
};

const timed = async <T>(
  { databaseUrl, store, storeKind }: Backbone,
  { withProgress }: Tools,
  projection: Projection,
  signal: AbortSignal,
  work: (options: OnlineOptions) => Promise<T>,
): Promise<{ readonly result: T; readonly seconds: number }> => {
  const beganMs = performance.now();
  const result = await withProgress(projection.name, (onProgress) =>
    work({
      databaseUrl,
      store,
      log: createLog('silent'),
      program: `${version}, events in ${storeKind}`,
      migrations: migrations.map(({ name }) => name),
      signal,
      onProgress,
    }),
  );
  return { result, seconds: Math.round(performance.now() - beganMs) / 1_000 };
};

/** Ctrl-C, or SIGTERM, ends the work and lets it clear up; a second one ends the process. */
const interruptible = (): { readonly signal: AbortSignal; readonly letGo: () => void } => {
  const ending = new AbortController();
  const end = (): void =>
    ending.abort(new Error('interrupted: the live read model is as it was, and its copy is dropped'));
  process.once('SIGINT', end).once('SIGTERM', end);
  return {
    signal: ending.signal,
    letGo: () => {
      process.off('SIGINT', end).off('SIGTERM', end);
    },
  };
};

const describe = ({ rows, differences, tables }: ReadModelComparison, when = ''): string => {
  if (differences === 0) return `${when}${rows} rows, 0 differences`;
  const lines = tables
    .filter(({ missing, surplus, changed }) => missing + surplus + changed > 0)
    .flatMap(({ table, missing, surplus, changed, shown }) => [
      `  ${table}: ${missing} missing, ${surplus} surplus, ${changed} changed; ${shown.length === missing + surplus + changed ? 'all' : 'the first'} of them:`,
      ...shown.map((one) => `    ${describeRow(one)}`),
    ]);
  return [`${when}${rows} rows, ${differences} differences:`, ...lines, ' '].join('\n').trimEnd();
};

const describeRow = ({ key, problem, columns = {} }: RowDifference): string => {
  const changes = Object.entries(columns).map(
    ([name, [live, rebuilt]]) => `${name}: ${live ?? 'null'} instead of ${rebuilt ?? 'null'}`,
  );
  return `${problem} ${JSON.stringify(key)}${changes.length === 0 ? '' : ` ${changes.join('; ')}`}`;
};
