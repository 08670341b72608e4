import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { LogRecord } from './event-log.ts';
import { recordSchema, storedRecord } from './log-file.ts';

/** The records of one write. A new leader starts with an entry without records. */
export interface Entry {
  readonly term: number;
  readonly records: readonly LogRecord[];
}

export const entrySchema = z.strictObject({ term: z.int(), records: z.array(recordSchema) });

/** An entry as JSON. */
export const storedEntry = ({ term, records }: Entry): z.input<typeof entrySchema> => ({
  term,
  records: records.map(storedRecord),
});

/** Entries, term and vote of a node, in files. They are not synced: the machine does not fail. */
export const openEntryFiles = (folder: string) => {
  mkdirSync(folder, { recursive: true });
  const [logPath, votePath] = [join(folder, 'entries.jsonl'), join(folder, 'vote.json')];
  const read = (path: string): string => {
    appendFileSync(path, '');
    return readFileSync(path, 'utf8');
  };
  const vote = z.strictObject({ term: z.int(), votedFor: z.string().optional() });
  const lineOf = (entry: Entry): string => `${JSON.stringify(storedEntry(entry))}\n`;
  const known = read(votePath);
  return {
    // The last write may be an incomplete line.
    entries: read(logPath)
      .split('\n')
      .slice(0, -1)
      .map((line) => entrySchema.parse(JSON.parse(line))),
    ...(known === '' ? { term: 0, votedFor: undefined } : vote.parse(JSON.parse(known))),
    append: (added: readonly Entry[]) => appendFileSync(logPath, added.map(lineOf).join('')),
    rewrite: (all: readonly Entry[]) => writeFileSync(logPath, all.map(lineOf).join('')),
    keepVote: (term: number, votedFor: string | undefined) =>
      writeFileSync(votePath, JSON.stringify({ term, votedFor })),
  };
};
