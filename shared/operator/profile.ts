import { Session } from 'node:inspector/promises';
import { sleep } from '../async/backoff.ts';

export const profileKinds = ['cpu', 'heap'] as const;
export type ProfileKind = (typeof profileKinds)[number];

/** Open them in the developer tools of Chromium, or in VS Code. */
export const profileFileEndings: Readonly<Record<ProfileKind, string>> = {
  cpu: 'cpuprofile',
  heap: 'heapprofile',
};

/** The average distance of samples, in bytes: V8's own default is 32 KiB. */
const HEAP_SAMPLE_BYTES = 64 * 1024;
const CPU_SAMPLE_US = 1_000;

/**
 * Samples where this process spends its time, or which functions allocate what stays in memory. Unlike a heap snapshot, a sample holds names
 * of functions and no values: no personal data and no secret leaves the process.
 * @param signal ends the profile early
 */
export const takeProfile = async (
  kind: ProfileKind,
  seconds: number,
  signal: AbortSignal,
): Promise<string> => {
  const session = new Session();
  session.connect();
  try {
    return await (kind === 'cpu' ? cpuProfile : heapProfile)(session, () => sleep(seconds * 1_000, signal));
  } finally {
    session.disconnect();
  }
};

type Wait = () => Promise<void>;

const cpuProfile = async (session: Session, wait: Wait): Promise<string> => {
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: CPU_SAMPLE_US });
  await session.post('Profiler.start');
  await wait();
  return JSON.stringify((await session.post('Profiler.stop')).profile);
};

const heapProfile = async (session: Session, wait: Wait): Promise<string> => {
  await session.post('HeapProfiler.enable');
  await session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_SAMPLE_BYTES });
  await wait();
  return JSON.stringify((await session.post('HeapProfiler.stopSampling')).profile);
};
