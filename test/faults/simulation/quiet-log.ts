import type { Logger } from 'pino';

const nothing = (): void => undefined;

/** Discards all log lines. */
export const quietLog = {
  warn: nothing,
  error: nothing,
  info: nothing,
  child: () => quietLog,
} as unknown as Logger;
