import type { Logger } from 'pino';

const nothing = (): void => undefined;

/** Takes everything, writes nothing. */
export const quietLog = {
  warn: nothing,
  error: nothing,
  info: nothing,
  child: () => quietLog,
} as unknown as Logger;
