import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { createEventLog, type EventLog, type LogRecord } from './event-log.ts';

const bytes = z.string().transform((text) => new Uint8Array(Buffer.from(text, 'base64')));
const big = z.string().transform((text) => BigInt(text));
/** A record as JSON. */
export const recordSchema = z.strictObject({
  position: big,
  stream: z.string(),
  revision: big,
  id: z.string(),
  type: z.string(),
  contentType: z.string(),
  data: bytes,
  metadata: bytes,
  createdAt: z.number(),
});

export const storedRecord = (written: LogRecord): z.input<typeof recordSchema> => ({
  ...written,
  position: String(written.position),
  revision: String(written.revision),
  data: Buffer.from(written.data).toString('base64'),
  metadata: Buffer.from(written.metadata).toString('base64'),
});

const lineOf = (written: LogRecord): string => `${JSON.stringify(storedRecord(written))}\n`;

/** A log that is also in a file, so that a restarted program finds it again. */
export const openLogFile = (folder: string): EventLog => {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'log.jsonl');
  appendFileSync(path, '');
  // The last write may be an incomplete line, which was never acknowledged.
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  const records = lines.map((line): LogRecord => recordSchema.parse(JSON.parse(line)));
  return createEventLog(records, (written) => appendFileSync(path, written.map(lineOf).join('')));
};
