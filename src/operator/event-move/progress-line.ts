export interface Progress {
  /** So far, since the first run; left out where they are not counted. */
  readonly events?: number;
  /** Of the whole, 0 to 1. */
  readonly fraction: number;
}

export interface ProgressLine {
  readonly update: (progress: Progress) => void;
  /** Leaves the last state behind, on a line of its own. */
  readonly end: () => void;
}

type Output = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;

const BAR_CHARS = 30;
const TERMINAL_EVERY_MS = 200;
const LINE_EVERY_MS = 5_000;

/**
 * How far a long work is, its rate and the time left: a bar on a terminal, a line every 5 s elsewhere.
 * @param nowMs a clock that never goes back
 */
export const createProgressLine = (
  label: string,
  output: Output = process.stderr,
  nowMs: () => number = () => performance.now(),
): ProgressLine => {
  const startedMs = nowMs();
  let first: Progress | undefined;
  let last: Progress | undefined;
  let shownMs = -Infinity;
  const show = (progress: Progress): void => {
    shownMs = nowMs();
    const text = `${label} ${describeProgress(first ?? progress, progress, (shownMs - startedMs) / 1_000)}`;
    // The rest of a longer line before it is cleared.
    output.write(output.isTTY ? `\r${bar(progress.fraction)} ${text}\u001B[K` : `${text}\n`);
  };
  return {
    update: (progress) => {
      first ??= progress;
      last = progress;
      if (nowMs() - shownMs >= (output.isTTY ? TERMINAL_EVERY_MS : LINE_EVERY_MS)) show(progress);
    },
    end: () => {
      if (last !== undefined) show(last);
      if (output.isTTY) output.write('\n');
    },
  };
};

const bar = (fraction: number): string => {
  const full = Math.round(fraction * BAR_CHARS);
  return `[${'#'.repeat(full)}${'.'.repeat(BAR_CHARS - full)}]`;
};

/** Rate and time left are those of this run, not of earlier ones that it resumed. */
const describeProgress = (first: Progress, now: Progress, seconds: number): string => {
  const gained = now.fraction - first.fraction;
  const left = gained > 0 ? ((1 - now.fraction) / gained) * seconds : undefined;
  const rate = seconds > 0 ? ((now.events ?? 0) - (first.events ?? 0)) / seconds : 0;
  return [
    `${(now.fraction * 100).toFixed(1)} %`,
    ...(now.events === undefined ? [] : [`${now.events} events`]),
    ...(rate > 0 ? [`${Math.round(rate)}/s`] : []),
    ...(left === undefined ? [] : [`${duration(left)} left`]),
  ].join(', ');
};

const duration = (seconds: number): string => {
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (whole < 60) return `${whole} s`;
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};
