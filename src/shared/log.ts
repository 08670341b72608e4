import { destination, pino, type DestinationStream, type Logger } from 'pino';

/** Lines that came together are written as soon as they are this long. */
const WRITE_BYTES = 8 * 1024;

/** Structured logs, one JSON object a line on standard output. Nothing secret is ever passed in. */
export const createLog = (level: string): Logger =>
  level === 'silent'
    ? pino({ level })
    : pino(
        { level, base: { service: 'buyer-exchange' }, timestamp: pino.stdTimeFunctions.isoTime },
        byTurn(),
      );

/**
 * Standard output, written once in each turn of the event loop: a system call for each line costs more than making the
 * line. Whoever kills the process loses no more than the lines of the turn that it was in.
 */
const byTurn = (): DestinationStream => {
  const output = destination({ dest: process.stdout.fd, sync: true, minLength: WRITE_BYTES });
  let scheduled = false;
  const flush = (): void => {
    scheduled = false;
    output.flush();
  };
  // All that is left, however much: `flush` writes one buffer of it.
  process.once('exit', () => {
    try {
      output.flushSync();
    } catch {
      // Nobody reads any more, and that is no reason to end otherwise.
    }
  });
  return {
    write: (line) => {
      output.write(line);
      if (scheduled) return;
      scheduled = true;
      setImmediate(flush);
    },
  };
};

export type { Logger } from 'pino';
