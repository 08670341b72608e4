import { pino, type Logger } from 'pino';
import { correlationFields } from '../shared/tracing/correlation.ts';
import { traceFields } from '../shared/tracing/tracing.ts';
import type { Config } from './config.ts';
import type { Screen } from './pretty-log.ts';

const base = { service: 'buyer-exchange' };

/** Callers never pass a secret in. */
export const createLog = (level: string, isTraced = false): Logger =>
  pino({
    level,
    base,
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: isTraced ? () => ({ ...traceFields(), ...correlationFields() }) : correlationFields,
  });

export const isPretty = ({ LOG_FORMAT }: Pick<Config, 'LOG_FORMAT'>, { isTTY }: Screen): boolean =>
  LOG_FORMAT === undefined ? isTTY === true : LOG_FORMAT === 'pretty';

/** Loads the formatter only where it is used. */
export const openLog = async (
  config: Pick<Config, 'LOG_FORMAT' | 'LOG_LEVEL' | 'OTEL_EXPORTER_OTLP_ENDPOINT'>,
  screen: Screen,
): Promise<Logger> => {
  const { LOG_LEVEL: level } = config;
  if (!isPretty(config, screen)) return createLog(level, config.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined);
  const { prettyOutput } = await import('./pretty-log.ts');
  const log: Logger = pino(
    { level, base },
    prettyOutput(screen, () => log.level === 'debug'),
  );
  return log;
};
