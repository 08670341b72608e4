import type { Backbone } from '../composition.ts';
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
import { createLog } from '../shared/log.ts';
import { version } from '../shared/version.ts';
import { createProgressLine } from './event-move/progress-line.ts';
import { rebuildReadModels } from './rebuild-read-models.ts';
import { VerifyFailedError, WordsError } from './words.ts';

/** The operator's commands on read models, beside a running service. */

export const readModelUsage = `  read-models rebuild [NAME...] [--json] Makes read models anew beside the live ones while the service runs, and
                                         puts them in their place, each at once; default: every one. Killed, it
                                         goes on where it was when it is run again; Ctrl-C drops what it has made.
                                         Exit status 1 when one could not be put in place; the others are all the
                                         same.
      [--allow-parked]                   Also one that leaves out streams that the live one has.
      [--cancel]                         Only drops what a killed run has left.
      [--offline]                        With the service stopped, after the log was replaced: empties every read
                                         model and makes it anew from the log that is there now. Exit status 1
                                         when streams cannot be applied, unless --allow-parked.
  read-models verify [NAME...] [--json]  Makes read models anew beside the live ones while the service runs, and
                                         tells the rows in which they differ. Exit status 0: none does,
                                         1: some do, 2: it could not be found out.
`;

export const readModelOptions = {
  cancel: { type: 'boolean', default: false },
  'allow-parked': { type: 'boolean', default: false },
  offline: { type: 'boolean', default: false },
} as const;

/** What is said of read models in general. */
export interface Wanted {
  readonly readModels: readonly Projection[];
  readonly offline: boolean;
  readonly cancel: boolean;
  readonly allowParked: boolean;
  readonly json: boolean;
  readonly print: (text: string) => void;
}

const rebuildable = allProjections.filter(isRebuildable);

/** @param names none: every read model that can be made anew beside the live one @throws WordsError */
export const namedReadModels = (names: readonly string[]): readonly Projection[] => {
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

/** @returns whether all were put in place @throws Error that names those that were not */
export const readModelsRebuild = async (backbone: Backbone, wanted: Wanted): Promise<boolean> => {
  if (wanted.cancel) return cancelAll(backbone, wanted);
  if (wanted.offline) return rebuildOffline(backbone, wanted);
  const failed = await withEach(wanted, async (projection, signal) => {
    const { result, seconds } = await withProgress(backbone, projection, signal, (options) =>
      rebuildOnline(options, projection, wanted.allowParked),
    );
    wanted.print(
      wanted.json
        ? JSON.stringify({ ...result, switched: true, seconds })
        : `${projection.name}: rebuilt in ${seconds} s and put in place at ${result.position}` +
            `${result.resumed ? ', begun by an earlier run' : ''}; ${describe(result, 'before that, ')}`,
    );
  });
  if (failed.length > 0) throw new Error(failed.join('\n'));
  return true;
};

/** @returns whether nothing differs @throws VerifyFailedError */
export const readModelsVerify = async (backbone: Backbone, wanted: Wanted): Promise<boolean> => {
  let differences = 0;
  const failed = await withEach(wanted, async (projection, signal) => {
    const { result, seconds } = await withProgress(backbone, projection, signal, (options) =>
      verifyOnline(options, projection),
    );
    differences += result.differences;
    wanted.print(
      wanted.json
        ? JSON.stringify({ ...result, seconds })
        : `${projection.name}: ${describe(result)} at ${result.position}, in ${seconds} s`,
    );
  });
  if (failed.length > 0) throw new VerifyFailedError(failed.join('\n'));
  return differences === 0;
};

/**
 * With the service stopped, from whatever log there is now.
 * @returns whether every stream could be applied, or need not be
 * @throws ServiceRunningError
 */
export const rebuildOffline = async (
  backbone: Backbone,
  { print, json, allowParked }: Pick<Wanted, 'print' | 'json' | 'allowParked'>,
): Promise<boolean> => {
  const line = createProgressLine('read models');
  const { readModels, parkedStreams } = await rebuildReadModels(backbone, createLog('silent'), line.update);
  line.end();
  print(
    json
      ? JSON.stringify({ readModels, parkedStreams })
      : `read models made anew: ${readModels.join(', ')}; ${parkedStreams} streams are parked`,
  );
  return parkedStreams === 0 || allowParked;
};

const cancelAll = async ({ databaseUrl }: Backbone, wanted: Wanted): Promise<boolean> => {
  const failed = await withEach(wanted, async ({ name }) => {
    const dropped = await cancelOnline(databaseUrl, name);
    if (wanted.json) wanted.print(JSON.stringify({ readModel: name, dropped }));
    else if (dropped) wanted.print(`${name}: dropped what an earlier run had left`);
  });
  if (failed.length > 0) throw new Error(failed.join('\n'));
  return true;
};

/** One after the other; one that cannot be done does not keep the others from it. @returns what went wrong */
const withEach = async (
  { readModels, json, print }: Wanted,
  work: (projection: Projection, signal: AbortSignal) => Promise<void>,
): Promise<readonly string[]> => {
  const failed: string[] = [];
  await untilInterrupted(async (signal) => {
    for (const projection of readModels) {
      signal.throwIfAborted();
      try {
        await work(projection, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const message = error instanceof Error ? error.message : String(error);
        failed.push(`${projection.name}: ${message}`);
        if (json) print(JSON.stringify({ readModel: projection.name, error: message }));
      }
    }
  });
  return failed;
};

const withProgress = async <T>(
  { databaseUrl, store, storeKind }: Backbone,
  projection: Projection,
  signal: AbortSignal,
  work: (options: OnlineOptions) => Promise<T>,
): Promise<{ readonly result: T; readonly seconds: number }> => {
  const line = createProgressLine(projection.name);
  const beganMs = performance.now();
  try {
    const result = await work({
      databaseUrl,
      store,
      log: createLog('silent'),
      program: `${version}, events in ${storeKind}`,
      migrations: migrations.map(({ name }) => name),
      signal,
      onProgress: line.update,
    });
    return { result, seconds: Math.round(performance.now() - beganMs) / 1_000 };
  } finally {
    line.end();
  }
};

/** Ctrl-C, or SIGTERM, ends the work and lets it clear up; a second one ends the process. */
const untilInterrupted = async (work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
  const ending = new AbortController();
  const end = (): void =>
    ending.abort(new Error('interrupted: the live read model is as it was, and its copy is dropped'));
  process.once('SIGINT', end).once('SIGTERM', end);
  try {
    await work(ending.signal);
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
  }
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
