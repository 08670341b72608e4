import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { START, type Position } from '../../shared/event-store/event-store.ts';

const State = z.object({
  /** Everything up to this position of the source is in the target. */
  after: z.string().transform((position) => position as Position),
  events: z.int().nonnegative(),
  /** The event at that position: both stores must hold it for the rest to be believed. */
  last: z.object({ stream: z.string(), revision: z.int().nonnegative(), id: z.string() }),
});
export type CopyState = z.output<typeof State>;

export const noResume = { after: START, events: 0 } as const;

/** Where a copy remembers how far it is. Losing it costs time and nothing else. */
export interface CopyCheckpoint {
  load(): Promise<CopyState | undefined>;
  save(state: CopyState): Promise<void>;
  /** The copy is whole. */
  remove(): Promise<void>;
}

/** In a file that is replaced as a whole; what is no checkpoint counts as none. */
export const fileCheckpoint = (path: string): CopyCheckpoint => ({
  load: async () => {
    const text = await readFile(path, 'utf8').catch(() => '');
    return parse(text);
  },
  save: async (state) => {
    await mkdir(dirname(path), { recursive: true });
    const next = `${path}.next`;
    await writeFile(next, JSON.stringify(state));
    await rename(next, path);
  },
  remove: () => rm(path, { force: true }),
});

const parse = (text: string): CopyState | undefined => {
  try {
    return State.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};

/** One file for each pair of stores; passwords are no part of its name. */
export const checkpointPath = (directory: string, from: string, to: string): string => {
  const pair = createHash('sha256')
    .update(`${withoutSecrets(from)} ${withoutSecrets(to)}`)
    .digest('hex');
  return join(directory, `events-copy-${pair.slice(0, 16)}.json`);
};

const withoutSecrets = (address: string): string => {
  if (!URL.canParse(address)) return address;
  const { protocol, host, pathname } = new URL(address);
  return `${protocol}//${host}${pathname}`;
};
