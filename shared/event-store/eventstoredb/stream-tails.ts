import { LRUCache } from 'lru-cache';
import type { LogReader } from './log-reader.ts';

/** The ids of a stream's last events, oldest first, and the revision of the last one; -1 without any. */
export interface StreamTail {
  readonly revision: number;
  readonly ids: readonly string[];
}

export interface StreamTails {
  /** As the stream is now. @throws EventStoreUnavailableError */
  read(stream: string): Promise<StreamTail>;
  /** As the stream was when it was last heard of; the stream may be further by now. */
  known(stream: string): StreamTail | undefined;
  /** The server has accepted events behind `revision`. */
  appended(stream: string, revision: number, ids: readonly string[]): void;
}

/** Streams whose tail is kept, the least recently used go first: about 64 KiB for each. */
const STREAMS_MAX = 64;

/**
 * Keeps what it has read: events do not change, so the next read needs only those that came since. What is kept
 * may be used as it is, because an append at an exact revision shows whether it is still the stream's end.
 */
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

  const readAnew = async (stream: string): Promise<StreamTail> => {
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
      const tail = before === undefined ? await readAnew(stream) : await readOn(stream, before);
      // Nothing new where there must be: what is kept is of another log.
      const isStale = before !== undefined && before.revision === tail.revision;
      return keep(stream, isStale ? await readAnew(stream) : tail);
    },
    known: (stream) => known.get(stream),
    appended: (stream, revision, ids) => {
      const before = known.get(stream);
      if (before === undefined || before.revision !== revision) return;
      keep(stream, { revision: revision + ids.length, ids: [...before.ids, ...ids].slice(-reach) });
    },
  };
};
