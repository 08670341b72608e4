import { pino, type Logger } from 'pino';

/** Structured logs, one JSON object a line on standard output. Nothing secret is ever passed in. */
export const createLog = (level: string): Logger =>
  pino({ level, base: { service: 'buyer-exchange' }, timestamp: pino.stdTimeFunctions.isoTime });
