import type { DestinationStream } from 'pino';
import { isColorSupported, prettyFactory } from 'pino-pretty';
import { z } from 'zod';

export type Screen = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

const LogRecord = z.looseObject({
  level: z.int(),
  time: z.number(),
  msg: z.string().default(''),
  attempt: z.int().optional(),
  err: z.looseObject({ message: z.string() }).optional(),
});
type LogRecord = z.output<typeof LogRecord>;

const [INFO, WARN] = [30, 40];
const SHOWN: readonly string[] = ['request', 'stopping', 'stopped'];
const MARGIN = 17;
const ONE_LINE_UP = '\u001B[1A\u001B[2K';

/** On a terminal, repeated attempts update a single line. @param isWhole also prints what only operators need */
export const prettyOutput = (screen: Screen, isWhole: () => boolean): DestinationStream => {
  const isTerminal = screen.isTTY === true;
  const print = prettyFactory({
    colorize: isTerminal && isColorSupported,
    translateTime: 'SYS:HH:MM:ss',
    ignore: 'service',
    singleLine: true,
  });
  let wasAttempt = false;
  return {
    write: (line) => {
      const record = LogRecord.parse(JSON.parse(line));
      if (!isWhole() && record.level <= INFO && !SHOWN.includes(record.msg)) return;
      const isAttempt = isTerminal && record.attempt !== undefined && record.err === undefined;
      const shown = isAttempt ? attemptOf(record, screen.columns || 80) : plainOf(record);
      const isUpdate = isAttempt && wasAttempt && record.attempt !== 1;
      screen.write(`${isUpdate ? ONE_LINE_UP : ''}${print(shown)}`);
      wasAttempt = isAttempt;
    },
  };
};

const attemptOf = ({ level, time, msg, attempt }: LogRecord, columns: number): LogRecord => {
  const text = `${msg} (attempt ${attempt})`;
  return { level, time, msg: text.slice(0, columns - MARGIN - 1) };
};

/** A warning needs no stack. */
const plainOf = (record: LogRecord): LogRecord => {
  const { level, time, msg, err, ...rest } = record;
  if (msg === 'request') return { level, time, msg: requestLine(record) };
  if (level > WARN || err === undefined) return record;
  return { level, time, msg: `${msg}: ${err.message}`, ...rest };
};

/** The id of a request that failed here leads to its other log lines. */
const requestLine = ({ status, method, route, durationMs, requestId }: LogRecord): string => {
  const line = [status, method, route, durationMs, 'ms'].filter((part) => part !== undefined).map(String);
  return [...line, ...(Number(status) >= 500 ? ['request', String(requestId)] : [])].join(' ');
};
