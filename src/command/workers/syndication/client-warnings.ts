import type { Logger } from '../../../shared/log.ts';

const LEVELS = ['warn', 'error'] as const;

type Printer = Record<(typeof LEVELS)[number], (...said: unknown[]) => void>;

/**
 * Keeps from the console what the files of a package print there, and tells the log once of each place that it would have
 * come from. The official AdCP client prints, past any log, a line or two at each call of an agent that it finds wanting,
 * in words that are in part the agent's: names of tools, as many as it has, and errors, which may repeat our token. It
 * has no setting for that. What others print goes to the console as before: the caller of `warn` decides.
 * @param folder of the package, as paths of its files begin
 */
export const keepFromConsole = (folder: string, log: Logger, printer: Printer = console): void => {
  const told = new Set<string>();
  for (const level of LEVELS) {
    const print = printer[level];
    const kept = (...said: unknown[]): void => {
      const place = callerOf(kept);
      if (!place.includes(folder)) {
        print.apply(printer, said);
      } else if (!told.has(place)) {
        told.add(place);
        log.warn({ level, place }, 'the client of agents would print something: see this place in its files');
      }
    };
    printer[level] = kept;
  }
};

/** Where a function is called from: file, line and column. */
const callerOf = (called: (...args: never[]) => void): string => {
  const { stackTraceLimit } = Error;
  const at = { stack: '' };
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(at, called);
  Error.stackTraceLimit = stackTraceLimit;
  return at.stack.split('\n').at(-1)?.trim() ?? '';
};
