import { readdir, readFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The processor time of the service's processes in a scenario, by origin. */
export interface ProfileFigures {
  /** The key of the run. */
  readonly run: string;
  /** The busy share of all time; the average of several processes. */
  readonly busy: number;
  /** The event loop's p99 delay in the slowest process during measurements, in ms: the median of all measurements. */
  readonly loopDelayMs?: number;
  /** Shares of the busy time, the largest first. Excludes called functions. */
  readonly parts: readonly ProfilePart[];
}

export interface ProfilePart {
  /** A folder or file of the project, a package, a Node module, or V8 itself. */
  readonly part: string;
  readonly share: number;
}

/** The format of `node --cpu-prof`: https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
      readonly columnNumber: number;
    };
  }[];
  readonly samples: readonly number[];
  /** In us, each before its sample. */
  readonly timeDeltas: readonly number[];
}

type Frame = CpuProfile['nodes'][number]['callFrame'];

/** The source path or address of a frame, before bundling. */
export type SourceOf = (frame: Frame) => string;

/** Excluded: a starting process reads and compiles its programs. */
const STARTING_US = 2_000_000;
/** Prefix of profiles of one measurement in a process that had started long before. */
export const MEASUREMENT_PROFILE = 'measurement-';
const PARTS_MAX = 12;

/** The call by which a process starts and ends its own profiler. */
const isProfiler = ({ functionName, url }: Frame): boolean => url === '' && functionName === 'dispatch';

const WITHOUT_SOURCE: Readonly<Record<string, string>> = {
  '(garbage collector)': 'garbage collection',
  '(program)': 'native code of Node',
};

const OWN = /(?:^|\/)((?:app|cli|command|demo|domain|migrations|projections|query|shared)\/.+)\.[jt]s$/;

/** The origin of a source, at the level where one would look for the cause. */
export const partOf = (source: string, functionName: string): string => {
  const inPackage = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1];
  if (inPackage !== undefined) return inPackage;
  const own = OWN.exec(source)?.[1];
  if (own !== undefined) return own.split('/').slice(0, 2).join('/');
  if (source.startsWith('node:')) return source.replace('internal/', '').split('/')[0] ?? source;
  if (source !== '') return 'other';
  return WITHOUT_SOURCE[functionName] ?? (functionName === '' ? 'built into V8' : `native ${functionName}`);
};

/** Sums the profiles of several processes, or of several measurements in one. */
export const addUp = (
  profiles: readonly {
    readonly profile: CpuProfile;
    readonly sourceOf: SourceOf;
    /** True for a measurement in a process that had started before. */
    readonly isMeasurement?: boolean;
  }[],
): Omit<ProfileFigures, 'run'> => {
  const times = new Map<string, number>();
  let [all, idle] = [0, 0];
  for (const { profile, sourceOf, isMeasurement = false } of profiles) {
    const fromUs = isMeasurement ? 0 : STARTING_US;
    const parts = new Map(
      profile.nodes.map(({ id, callFrame }) => [
        id,
        callFrame.functionName === '(idle)' ? undefined : partOf(sourceOf(callFrame), callFrame.functionName),
      ]),
    );
    const ofProfiler = new Set(
      profile.nodes.filter(({ callFrame }) => isProfiler(callFrame)).map(({ id }) => id),
    );
    let at = 0;
    for (const [n, sample] of profile.samples.entries()) {
      const tookUs = profile.timeDeltas[n] ?? 0;
      at += tookUs;
      if (at < fromUs) continue;
      if (ofProfiler.has(sample)) continue;
      const part = parts.get(sample);
      all += tookUs;
      if (part === undefined) idle += tookUs;
      else times.set(part, (times.get(part) ?? 0) + tookUs);
    }
  }
  const busy = all - idle;
  const parts = [...times].map(([part, time]) => ({ part, share: time / busy }));
  return {
    busy: all === 0 ? 0 : busy / all,
    parts: parts.toSorted((a, b) => b.share - a.share).slice(0, PARTS_MAX),
  };
};

/**
 * Sums the profiles in a folder.
 * @returns undefined if there are none
 */
export const profileFiguresOf = async (
  directory: string,
): Promise<Omit<ProfileFigures, 'run'> | undefined> => {
  const names = await readdir(directory).catch(() => []);
  const files = names.filter((name) => name.endsWith('.cpuprofile'));
  if (files.length === 0) return undefined;
  const profiles = await Promise.all(
    files.map(async (file) => ({
      profile: JSON.parse(await readFile(join(directory, file), 'utf8')) as CpuProfile,
      isMeasurement: file.startsWith(MEASUREMENT_PROFILE),
    })),
  );
  const urls = new Set(
    profiles.flatMap(({ profile }) => profile.nodes.map(({ callFrame }) => callFrame.url)),
  );
  const maps = new Map(
    await Promise.all([...urls].map(async (url) => [url, await sourceMapOf(url)] as const)),
  );
  const sourceOf: SourceOf = (frame) => originalSource(maps.get(frame.url), frame);
  return addUp(profiles.map((one) => ({ ...one, sourceOf })));
};

const sourceMapOf = async (url: string): Promise<SourceMap | undefined> => {
  if (!url.startsWith('file:')) return undefined;
  const text = await readFile(`${fileURLToPath(url)}.map`, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : new SourceMap(JSON.parse(text));
};

const originalSource = (map: SourceMap | undefined, { url, lineNumber, columnNumber }: Frame): string => {
  const entry = map?.findEntry(lineNumber, columnNumber);
  return entry !== undefined && 'originalSource' in entry ? entry.originalSource : url;
};
