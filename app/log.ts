import { pino, type Logger } from 'pino';
import type { Config } from './config.ts';
import type { Screen } from './pretty-log.ts';

const base = { service: 'buyer-exchange' };

/** Callers never pass a secret in. */
export const createLog = (level: string): Logger =>
  pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime });

export const isPretty = ({ LOG_FORMAT }: Pick<Config, 'LOG_FORMAT'>, { isTTY }: Screen): boolean =>
  LOG_FORMAT === undefined ? isTTY === true : LOG_FORMAT === 'pretty';

/** Loads the formatter only where it is used. */
export const openLog = async (
  config: Pick<Config, 'LOG_FORMAT' | 'LOG_LEVEL'>,
  screen: Screen,
): Promise<Logger> => {
  const { LOG_LEVEL: level } = config;
  if (!isPretty(config, screen)) return createLog(level);
  const { prettyOutput } = await import('./pretty-log.ts');
  return pino({ level, base }, prettyOutput(screen, level === 'debug'));
};
