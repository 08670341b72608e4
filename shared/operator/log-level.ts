import type { Logger } from 'pino';
import { z } from 'zod';

export const LogLevelName = z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']);
export type LogLevelName = z.output<typeof LogLevelName>;

export interface LogLevelState {
  readonly level: string;
  /** Until then it differs from the setting `LOG_LEVEL`. */
  readonly until?: string;
}

export interface LogLevel {
  state(): LogLevelState;
  /** Returns to the level of the start after `seconds`: a forgotten `debug` must not fill a disk. */
  change(level: LogLevelName, seconds: number): LogLevelState;
  close(): void;
}

/** Create it before the log has children: pino copies the level to each child when it creates it. */
export const createLogLevel = (log: Logger): LogLevel => {
  const atStart = log.level;
  const children = new Set<{ level: string }>();
  log.onChild = (child) => children.add(child);
  let timer: NodeJS.Timeout | undefined;
  let until: string | undefined;
  const set = (level: string): void => {
    for (const one of [log, ...children]) one.level = level;
  };
  const restore = (): void => {
    clearTimeout(timer);
    until = undefined;
    set(atStart);
  };
  const state = (): LogLevelState => ({ level: log.level, ...(until !== undefined && { until }) });
  return {
    state,
    change: (level, seconds) => {
      restore();
      if (level === atStart) return state();
      set(level);
      until = new Date(Date.now() + seconds * 1_000).toISOString();
      timer = setTimeout(restore, seconds * 1_000).unref();
      return state();
    },
    close: restore,
  };
};
