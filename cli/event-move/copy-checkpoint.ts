import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { START, type Position } from '../../shared/event-store/event-store.ts';

const State = z.object({
  /** Every source event up to this position is in the target. */
  after: z.string().transform((position) => position as Position),
  events: z.int().nonnegative(),
  /** The event at that position. A resumed copy checks that both stores contain it. */
  last: z.object({ stream: z.string(), revision: z.int().nonnegative(), id: z.string() }),
});
export type CopyState = z.output<typeof State>;

export const noResume = { after: START, events: 0 } as const;

/** Progress of a copy. Without it the copy starts again and finds the written events. */
export interface CopyCheckpoint {
  load(): Promise<CopyState | undefined>;
  save(state: CopyState): Promise<void>;
  remove(): Promise<void>;
}

/** Stores the checkpoint in a file and replaces the file atomically. An unreadable file counts as absent. */
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
