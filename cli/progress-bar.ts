import cliProgress from 'cli-progress';
import type { Progress } from './command.ts';

const LINE_EVERY_MS = 5_000;

export const withProgressBar = async <T>(
  label: string,
  stream: NodeJS.WritableStream & { readonly isTTY?: boolean },
  work: (onProgress: (progress: Progress) => void) => Promise<T>,
): Promise<T> => {
  const isTerminal = stream.isTTY === true;
  const bar = new cliProgress.SingleBar({
    stream,
    format: `${isTerminal ? '[{bar}] ' : ''}{label} {percentage} %{events}, {eta_formatted} left`,
    // Truncates long lines and leaves the terminal's line wrap alone: a killed process could not restore it.
    linewrap: true,
    formatTime: (seconds, options, step) =>
      Number.isFinite(seconds) ? cliProgress.Format.TimeFormat(seconds, options, step) : '?',
    // On a stream that is not a terminal this would add an empty line.
    clearOnComplete: !isTerminal,
    noTTYOutput: true,
    notTTYSchedule: LINE_EVERY_MS,
  });
  bar.start(1, 0, { label, events: '' });
  try {
    return await work(({ fraction, events }) =>
      bar.update(fraction, { events: events === undefined ? '' : `, ${events} events` }),
    );
  } finally {
    bar.stop();
  }
};
