import { LRUCache } from 'lru-cache';
import type { LogReader } from './log-reader.ts';

/** Oldest id first; revision -1 if the stream is empty. */
export interface StreamTail {
  readonly revision: number;
  readonly ids: readonly string[];
}

export interface StreamTails {
  read(stream: string): Promise<StreamTail>;
  known(stream: string): StreamTail | undefined;
  appended(stream: string, revision: number, ids: readonly string[]): void;
}

/** LRU, about 64 KiB each. */
const STREAMS_MAX = 64;

/** Needs no read: an append at an exact revision fails if the stream has grown. */
export const createStreamTails = (reader: Pick<LogReader, 'readStored'>, reach: number): StreamTails => {
  const known = new LRUCache<string, StreamTail>({ max: STREAMS_MAX });

  const readOn = async (stream: string, from: StreamTail): Promise<StreamTail> => {
    let { revision } = from;
    const ids = [...from.ids];
    while (true) {
      const page = await reader.readStored(stream, { from: revision + 1, count: reach });
      ids.push(...page.map(({ event }) => event?.id ?? ''));
      revision = Number(page.at(-1)?.event?.revision ?? revision);
      if (page.length < reach) return { revision, ids: ids.slice(-reach) };
    }
  };

  const readWhole = async (stream: string): Promise<StreamTail> => {
    const page = await reader.readStored(stream, { count: reach, direction: 'backward' });
    const ids = page.map(({ event }) => event?.id ?? '').toReversed();
    return { revision: Number(page[0]?.event?.revision ?? -1), ids };
  };

  const keep = (stream: string, tail: StreamTail): StreamTail => {
    known.set(stream, tail);
    return tail;
  };

  return {
    read: async (stream) => {
      const before = known.get(stream);
      const tail = before === undefined ? await readWhole(stream) : await readOn(stream, before);
      // New events were expected but there are none: the cached tail belongs to another log.
      const isStale = before !== undefined && before.revision === tail.revision;
      return keep(stream, isStale ? await readWhole(stream) : tail);
    },
    known: (stream) => known.get(stream),
    appended: (stream, revision, ids) => {
      const before = known.get(stream);
      if (before === undefined || before.revision !== revision) return;
      keep(stream, { revision: revision + ids.length, ids: [...before.ids, ...ids].slice(-reach) });
    },
  };
};
