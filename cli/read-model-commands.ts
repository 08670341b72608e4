import type { Installation } from '../app/installation.ts';
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
import type { OnProgress, OperatorCommand, Progress, Tools } from './command.ts';
import { addStatusCommand } from './read-model-status.ts';
import { rebuildReadModels } from './rebuild-read-models.ts';
import { ArgumentsError } from './parse-args.ts';

const rebuildable = allProjections.filter(isRebuildable);

/** @param names empty: all that support an online rebuild @throws ArgumentsError */
const namedReadModels = (names: readonly string[]): readonly Projection[] => {
  if (names.length === 0) return rebuildable;
  return [...new Set(names)].map((name) => {
    const found = rebuildable.find((one) => one.name === name);
    if (found === undefined) {
      const other = allProjections.find((one) => one.name === name);
      throw new ArgumentsError(
        `${name} ${problemOf(other)}; there are: ${rebuildable.map((one) => one.name).join(', ')}`,
      );
    }
    return found;
  });
};

const problemOf = (other: Projection | undefined): string => {
  if (other === undefined) return 'is not a read model';
  return other.restart === undefined
    ? 'is not built from the log alone'
    : 'is not rebuilt, so nothing is sent twice';
};

interface RebuildOptions {
  readonly allowParked?: boolean;
  readonly cancel?: boolean;
  readonly offline?: boolean;
}

export const addReadModelCommands = (program: OperatorCommand, tools: Tools): void => {
  const group = program.command('read-models').description('Shows, verifies and rebuilds read models.');
  addStatusCommand(group, tools);

  group
    .command('rebuild')
    .description(
      'Rebuilds read models while the service runs, and switches to each when it is complete. Default: all. Run it ' +
        'again after a kill: it resumes. Ctrl-C drops the unfinished copy.',
    )
    .argument('[NAME...]')
    .option(
      '--allow-parked',
      'Switches to a copy although it leaves out streams that the live read model contains.',
    )
    .option('--cancel', 'Only drops the copy of a killed run.')
    .option(
      '--offline',
      'For use after the log was replaced, with the service stopped: empties every read model and fills it from the ' +
        'current log. Exit status 1 when streams cannot be applied, unless --allow-parked.',
    )
    .exits({ 1: 'a read model could not be replaced; the others were' })
    .example('advertisers', '--cancel')
    .action(async (names: readonly string[], { allowParked = false, cancel, offline }: RebuildOptions) => {
      const readModels = namedReadModels(names);
      if (offline === true) {
        if (cancel === true || names.length > 0) {
          throw new ArgumentsError('--offline rebuilds every read model: it takes no name and no --cancel');
        }
        await rebuildOffline(await tools.installation(), tools, allowParked);
      } else if (cancel === true) await cancelAll(tools, readModels);
      else await rebuildAll(tools, readModels, allowParked);
    });

  group
    .command('verify')
    .description(
      'Rebuilds read models in separate tables while the service runs, and lists the rows that differ.',
    )
    .argument('[NAME...]')
    .exits({ 0: 'no differences', 1: 'rows differ', 2: 'the comparison failed' })
    .example('', 'advertisers agents')
    .action((names: readonly string[]) => verifyAll(tools, namedReadModels(names)));
};

const rebuildAll = async (
  tools: Tools,
  readModels: readonly Projection[],
  withParked: boolean,
): Promise<void> => {
  const installation = await tools.installation();
  await eachOf(tools, readModels, async (projection, control) => {
    const { result, seconds } = await timed(installation, control, (options) =>
      rebuildOnline(options, projection, withParked),
    );
    tools.print(
      { ...result, switched: true, seconds },
      `${projection.name}: rebuilt in ${seconds} s and switched at ${result.position}` +
        `${result.resumed ? ', resumed from an earlier run' : ''}; ${describe(result, 'before that, ')}`,
    );
  });
};

/** For the drill of a backup. */
export const verifyReadModels = (tools: Tools): Promise<void> => verifyAll(tools, rebuildable);

const verifyAll = async (tools: Tools, readModels: readonly Projection[]): Promise<void> => {
  const installation = await tools.installation();
  await eachOf(tools, readModels, async (projection, control) => {
    const { result, seconds } = await timed(installation, control, (options) =>
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
  const { databaseUrl } = await tools.installation();
  await eachOf(tools, readModels, async ({ name }) => {
    const dropped = await cancelOnline(databaseUrl, name);
    tools.print(
      { readModel: name, dropped },
      dropped ? `${name}: dropped the copy of an earlier run` : undefined,
    );
  });
};

/** Rebuilds all read models from the current log. The service must be stopped. @throws ServiceRunningError */
export const rebuildOffline = async (
  installation: Installation,
  { withProgress, print, fail }: Tools,
  withParked: boolean,
): Promise<void> => {
  const { readModels, parkedStreams } = await withProgress('read models', (onProgress) =>
    rebuildReadModels(installation, createLog('silent'), onProgress),
  );
  print(
    { readModels, parkedStreams },
    `rebuilt read models: ${readModels.join(', ')}; ${parkedStreams} streams are parked`,
  );
  if (parkedStreams > 0 && !withParked) fail();
};

interface Control {
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

/** A failure does not stop the others. @throws Error listing the failures */
const eachOf = async (
  tools: Tools,
  readModels: readonly Projection[],
  work: (projection: Projection, control: Control) => Promise<void>,
): Promise<void> => {
  const failed: string[] = [];
  const { signal, removeHandlers } = interruptible();
  try {
    await tools.withProgress('read models', async (report) => {
      for (const [n, projection] of readModels.entries()) {
        signal.throwIfAborted();
        const phase = `${projection.name}, ${n + 1} of ${readModels.length}`;
        const onProgress = ({ fraction, ...rest }: Progress): void =>
          report({ ...rest, phase, fraction: (n + fraction) / readModels.length });
        onProgress({ fraction: 0 });
        try {
          await work(projection, { signal, onProgress });
        } catch (error) {
          if (signal.aborted) throw error;
          const message = error instanceof Error ? error.message : String(error);
          failed.push(`${projection.name}: ${message}`);
          tools.print({ readModel: projection.name, error: message }, undefined);
        }
      }
    });
  } finally {
    removeHandlers();
  }
  if (failed.length > 0) throw new Error(failed.join('\n'));
};

const timed = async <T>(
  { databaseUrl, store, storeKind }: Installation,
  control: Control,
  work: (options: OnlineOptions) => Promise<T>,
): Promise<{ readonly result: T; readonly seconds: number }> => {
  const beganMs = performance.now();
  const result = await work({
    databaseUrl,
    store,
    log: createLog('silent'),
    program: `${version}, events in ${storeKind}`,
    migrations: migrations.map(({ name }) => name),
    ...control,
  });
  return { result, seconds: Math.round(performance.now() - beganMs) / 1_000 };
};

/** The first Ctrl-C or SIGTERM aborts the work and lets it clean up; a second one ends the process. */
const interruptible = (): { readonly signal: AbortSignal; readonly removeHandlers: () => void } => {
  const ending = new AbortController();
  const end = (): void =>
    ending.abort(new Error('interrupted: the live read model is unchanged, and its copy is dropped'));
  process.once('SIGINT', end).once('SIGTERM', end);
  return {
    signal: ending.signal,
    removeHandlers: () => {
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
