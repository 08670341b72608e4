import type { Backbone } from '../composition.ts';
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
import { countServices } from '../shared/postgres/running-services.ts';
import { version } from '../shared/version.ts';
import { createProgressLine } from './event-move/progress-line.ts';
import { rebuildReadModels } from './rebuild-read-models.ts';
import { VerifyFailedError, WordsError } from './words.ts';

/** The operator's commands on read models, beside a running service. */

export const readModelUsage = `  read-models rebuild [NAME...] [--json] Makes read models anew beside the live ones while the service runs, and
                                         puts them in their place, each at once; default: every one. Killed, it
                                         goes on where it was when it is run again; Ctrl-C drops what it has made.
                                         Exit status 1 when one could not be put in place.
      [--allow-parked]                   Also one that leaves out streams that the live one has.
      [--cancel]                         Only drops what a killed run has left.
                                         Without a NAME and without a running service: makes every one anew from
                                         the log that is there now, after it was replaced.
  read-models verify [NAME...] [--json]  Makes read models anew beside the live ones while the service runs, and
                                         tells the rows in which they differ. Exit status 0: none does,
                                         1: some do, 2: it could not be found out.
`;

export const readModelOptions = {
  cancel: { type: 'boolean', default: false },
  'allow-parked': { type: 'boolean', default: false },
} as const;

/** What is said of read models in general. */
export interface Wanted {
  readonly readModels: readonly Projection[];
  /** They were named one by one. */
  readonly named: boolean;
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

/** @returns whether all were put in place */
export const readModelsRebuild = async (backbone: Backbone, wanted: Wanted): Promise<boolean> => {
  if (wanted.cancel) return cancelAll(backbone, wanted);
  const isOffline = !wanted.named && (await countServices(backbone.pool)) === 0;
  if (isOffline) return rebuildOffline(backbone, wanted.print);
  await untilInterrupted(async (signal) => {
    for (const projection of wanted.readModels) {
      const { result, seconds } = await withProgress(backbone, projection, signal, (options) =>
        rebuildOnline(options, projection, wanted.allowParked),
      );
      wanted.print(
        wanted.json
          ? JSON.stringify({ ...result, switched: true, seconds })
          : `${projection.name}: rebuilt in ${seconds} s and put in place at ${result.position}` +
              `${result.resumed ? ', begun by an earlier run' : ''}; ${describe(result, 'before that, ')}`,
      );
    }
  });
  return true;
};

/** @returns whether nothing differs @throws VerifyFailedError */
export const readModelsVerify = async (backbone: Backbone, wanted: Wanted): Promise<boolean> => {
  let differences = 0;
  try {
    await untilInterrupted(async (signal) => {
      for (const projection of wanted.readModels) {
        const { result, seconds } = await withProgress(backbone, projection, signal, (options) =>
          verifyOnline(options, projection),
        );
        differences += result.differences;
        wanted.print(
          wanted.json
            ? JSON.stringify({ ...result, seconds })
            : `${projection.name}: ${describe(result)} at ${result.position}, in ${seconds} s`,
        );
      }
    });
  } catch (cause) {
    throw new VerifyFailedError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
  return differences === 0;
};

/** With the service stopped, from whatever log there is now. @returns whether every stream could be applied */
export const rebuildOffline = async (backbone: Backbone, print: (text: string) => void): Promise<boolean> => {
  const line = createProgressLine('read models');
  const { readModels, parkedStreams } = await rebuildReadModels(backbone, createLog('silent'), line.update);
  line.end();
  print(`read models made anew: ${readModels.join(', ')}; ${parkedStreams} streams are parked`);
  return parkedStreams === 0;
};

const cancelAll = async ({ databaseUrl }: Backbone, { readModels, print }: Wanted): Promise<boolean> => {
  for (const { name } of readModels) {
    if (await cancelOnline(databaseUrl, name)) print(`${name}: dropped what an earlier run had left`);
  }
  return true;
};

const withProgress = async <T>(
  { pool, databaseUrl, store, storeKind }: Backbone,
  projection: Projection,
  signal: AbortSignal,
  work: (options: OnlineOptions) => Promise<T>,
): Promise<{ readonly result: T; readonly seconds: number }> => {
  const line = createProgressLine(projection.name);
  const beganMs = performance.now();
  try {
    const result = await work({
      pool,
      databaseUrl,
      store,
      log: createLog('silent'),
      program: `${version}, events in ${storeKind}`,
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
