import cliProgress from 'cli-progress';
import type { Progress } from './command.ts';

const LINE_EVERY_MS = 5_000;

/** How far a long work is and the time left: a bar on a terminal, a line every 5 s elsewhere. */
export const withProgressBar = async <T>(
  label: string,
  stream: NodeJS.WritableStream & { readonly isTTY?: boolean },
  work: (onProgress: (progress: Progress) => void) => Promise<T>,
): Promise<T> => {
  const isTerminal = stream.isTTY === true;
  const bar = new cliProgress.SingleBar({
    stream,
    format: `${isTerminal ? '[{bar}] ' : ''}{label} {percentage} %{events}, {eta_formatted} left`,
    // Long lines are cut, and the terminal's own setting is left alone: a killed process could not restore it.
    linewrap: true,
    formatTime: (seconds, options, step) =>
      Number.isFinite(seconds) ? cliProgress.Format.TimeFormat(seconds, options, step) : '?',
    // Elsewhere it would add an empty line.
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
