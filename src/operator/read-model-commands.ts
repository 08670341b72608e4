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
import { command, type Command, type Ending, type Told, type Tools } from './command.ts';
import { readModelsStatus } from './read-model-status.ts';
import { rebuildReadModels } from './rebuild-read-models.ts';
import { VerifyFailedError, WordsError } from './words.ts';

/** The operator's commands on read models, beside a running service. */

const rebuildable = allProjections.filter(isRebuildable);

/** @param names none: every read model that can be made anew beside the live one @throws WordsError */
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

const allowParked = {
  type: 'boolean',
  default: false,
  about: 'Also one that leaves out streams that the live one has.',
} as const;

const readModelsRebuild = command({
  name: 'read-models rebuild',
  places: [],
  more: 'NAME',
  options: {
    'allow-parked': allowParked,
    cancel: { type: 'boolean', default: false, about: 'Only drops what a killed run has left.' },
    offline: {
      type: 'boolean',
      default: false,
      about:
        'With the service stopped, after the log was replaced: empties every read model and makes it anew from the ' +
        'log that is there now. Exit status 1 when streams cannot be applied, unless --allow-parked.',
    },
  },
  about:
    'Makes read models anew beside the live ones while the service runs, and puts them in their place, each at once; ' +
    'default: every one. Killed, it goes on where it was when it is run again; Ctrl-C drops what it has made.',
  statuses: { 1: 'one could not be put in place; the others are all the same' },
  understand: (names, given) => {
    const readModels = namedReadModels(names);
    if (given.offline && (given.cancel || names.length > 0)) {
      throw new WordsError(
        '--offline makes every read model anew: it goes with no name, and without --cancel',
      );
    }
    if (given.cancel) return (tools) => cancelAll(tools, readModels);
    if (!given.offline) return (tools) => rebuildAll(tools, readModels, given['allow-parked']);
    return async function* (tools) {
      const { ending, ...told } = await rebuildOffline(await tools.backbone(), tools, given['allow-parked']);
      yield told;
      return ending;
    };
  },
});

const readModelsVerify = command({
  name: 'read-models verify',
  places: [],
  more: 'NAME',
  about:
    'Makes read models anew beside the live ones while the service runs, and tells the rows in which they differ.',
  isQuestion: true,
  statuses: { 0: 'none differs', 1: 'some do', 2: 'it could not be found out' },
  understand: (names) => {
    const readModels = namedReadModels(names);
    return (tools) => verifyAll(tools, readModels);
  },
});

export const readModelCommands: readonly Command[] = [readModelsStatus, readModelsRebuild, readModelsVerify];

/** @throws Error that names those that were not put in place */
async function* rebuildAll(
  tools: Tools,
  readModels: readonly Projection[],
  withParked: boolean,
): AsyncGenerator<Told, Ending> {
  const backbone = await tools.backbone();
  const failed = yield* eachOf(readModels, async (projection, signal) => {
    const { result, seconds } = await withProgress(backbone, tools, projection, signal, (options) =>
      rebuildOnline(options, projection, withParked),
    );
    return {
      value: { ...result, switched: true, seconds },
      text:
        `${projection.name}: rebuilt in ${seconds} s and put in place at ${result.position}` +
        `${result.resumed ? ', begun by an earlier run' : ''}; ${describe(result, 'before that, ')}`,
    };
  });
  if (failed.length > 0) throw new Error(failed.join('\n'));
  return undefined;
}

/** @throws VerifyFailedError */
async function* verifyAll(tools: Tools, readModels: readonly Projection[]): AsyncGenerator<Told, Ending> {
  const backbone = await tools.backbone();
  let differences = 0;
  const failed = yield* eachOf(readModels, async (projection, signal) => {
    const { result, seconds } = await withProgress(backbone, tools, projection, signal, (options) =>
      verifyOnline(options, projection),
    );
    differences += result.differences;
    return {
      value: { ...result, seconds },
      text: `${projection.name}: ${describe(result)} at ${result.position}, in ${seconds} s`,
    };
  });
  if (failed.length > 0) throw new VerifyFailedError(failed.join('\n'));
  return differences === 0 ? undefined : 'amiss';
}

async function* cancelAll(tools: Tools, readModels: readonly Projection[]): AsyncGenerator<Told, Ending> {
  const { databaseUrl } = await tools.backbone();
  const failed = yield* eachOf(readModels, async ({ name }) => {
    const dropped = await cancelOnline(databaseUrl, name);
    return {
      value: { readModel: name, dropped },
      text: dropped ? `${name}: dropped what an earlier run had left` : undefined,
    };
  });
  if (failed.length > 0) throw new Error(failed.join('\n'));
  return undefined;
}

/**
 * With the service stopped, from whatever log there is now. `amiss`: streams are parked that must not be.
 * @throws ServiceRunningError
 */
export const rebuildOffline = async (
  backbone: Backbone,
  { progress }: Pick<Tools, 'progress'>,
  withParked: boolean,
): Promise<Told & { readonly ending: Ending }> => {
  const line = progress('read models');
  const { readModels, parkedStreams } = await rebuildReadModels(backbone, createLog('silent'), line.update);
  line.end();
  return {
    value: { readModels, parkedStreams },
    text: `read models made anew: ${readModels.join(', ')}; ${parkedStreams} streams are parked`,
    ending: parkedStreams === 0 || withParked ? undefined : 'amiss',
  };
};

/** One after the other; one that cannot be done does not keep the others from it. @returns what went wrong */
async function* eachOf(
  readModels: readonly Projection[],
  work: (projection: Projection, signal: AbortSignal) => Promise<Told>,
): AsyncGenerator<Told, readonly string[]> {
  const failed: string[] = [];
  const { signal, letGo } = interruptible();
  try {
    for (const projection of readModels) {
      signal.throwIfAborted();
      try {
        yield await work(projection, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const message = error instanceof Error ? error.message : String(error);
        failed.push(`${projection.name}: ${message}`);
        yield { value: { readModel: projection.name, error: message }, text: undefined };
      }
    }
  } finally {
    letGo();
  }
  return failed;
}

const withProgress = async <T>(
  { databaseUrl, store, storeKind }: Backbone,
  { progress }: Tools,
  projection: Projection,
  signal: AbortSignal,
  work: (options: OnlineOptions) => Promise<T>,
): Promise<{ readonly result: T; readonly seconds: number }> => {
  const line = progress(projection.name);
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
