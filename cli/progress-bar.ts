import cliProgress from 'cli-progress';
import type { OnProgress, Progress } from './command.ts';

const LINE_EVERY_MS = 5_000;
const BAR_MAX = 30;
const BAR_MIN = 8;

type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

export interface ProgressBars {
  readonly withProgress: <T>(label: string, work: (onProgress: OnProgress) => Promise<T>) => Promise<T>;
  /** Removes a shown bar, writes, and shows the bar again below. */
  readonly writeAbove: (write: () => void) => void;
}

export const createProgressBars = (stream: Stream): ProgressBars => {
  const isTerminal = stream.isTTY === true;
  let shown: cliProgress.SingleBar | undefined;
  const widthMax = (): number => (isTerminal ? (stream.columns ?? 80) - 1 : 200);
  return {
    withProgress: async (label, work) => {
      const bar = new cliProgress.SingleBar({
        stream,
        format: (_, { progress, eta }, payload: Payload) =>
          lineOf({ fraction: progress, etaSeconds: eta, ...payload }, widthMax(), isTerminal),
        // The library would switch the terminal's line wrap off, and a killed process could not restore it.
        linewrap: true,
        clearOnComplete: true,
        // Its handlers of signals would keep the process from ending.
        gracefulExit: false,
        noTTYOutput: true,
        notTTYSchedule: LINE_EVERY_MS,
      });
      bar.start(1, 0, { phase: label, events: undefined } satisfies Payload);
      shown = bar;
      try {
        return await work(({ fraction, events, phase = label }) =>
          bar.update(fraction, { phase, events } satisfies Payload),
        );
      } finally {
        shown = undefined;
        bar.stop();
      }
    },
    writeAbove: (write) => {
      if (isTerminal && shown !== undefined) stream.write('\r\u001b[K');
      write();
      if (isTerminal) shown?.render();
    },
  };
};

type Payload = { readonly phase: string; readonly events: Progress['events'] };

interface ProgressLine extends Payload {
  readonly fraction: number;
  readonly etaSeconds: number | string;
}

/** Fits into the width, because a wrapped line could not be replaced by the next one. */
export const lineOf = (
  { fraction, etaSeconds, phase, events }: ProgressLine,
  width: number,
  isTerminal: boolean,
): string => {
  const left = Number.isFinite(Number(etaSeconds)) ? duration(Number(etaSeconds)) : '?';
  const parts = [
    `${phase}  ${Math.floor(fraction * 100)} %`,
    ...(events === undefined ? [] : [`${events.toLocaleString('en')} events`]),
    `${left} left`,
  ];
  const text = parts.join(', ');
  const size = Math.min(BAR_MAX, width - text.length - 3);
  if (!isTerminal || size < BAR_MIN) return text.slice(0, width);
  const done = Math.round(Math.min(1, fraction) * size);
  return `[${'#'.repeat(done)}${'-'.repeat(size - done)}] ${text}`;
};

const duration = (seconds: number): string => {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3_600).toFixed(1)} h`;
};
