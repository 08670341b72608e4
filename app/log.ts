import { pino, type Logger } from 'pino';
import type { Config } from './config.ts';
import type { Screen } from './pretty-log.ts';

const base = { service: 'buyer-exchange' };

/** Structured logs, one JSON object a line on standard output. Nothing secret is ever passed in. */
export const createLog = (level: string): Logger =>
  pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime });

/** True if the log is for people. */
export const isPretty = ({ LOG_FORMAT }: Pick<Config, 'LOG_FORMAT'>, { isTTY }: Screen): boolean =>
  LOG_FORMAT === undefined ? isTTY === true : LOG_FORMAT === 'pretty';

/** Lines for people, or one JSON object a line. Loads the formatter only where it is used. */
export const openLog = async (
  config: Pick<Config, 'LOG_FORMAT' | 'LOG_LEVEL'>,
  screen: Screen,
): Promise<Logger> => {
  const { LOG_LEVEL: level } = config;
  if (!isPretty(config, screen)) return createLog(level);
  const { prettyOutput } = await import('./pretty-log.ts');
  return pino({ level, base }, prettyOutput(screen, level === 'debug'));
};
