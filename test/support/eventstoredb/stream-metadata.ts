import { DELETED, type EventLog } from './event-log.ts';

export interface StreamMetadata {
  /** The first remaining revision. `DELETED` hides all. */
  readonly truncateBefore: bigint;
  readonly maxCount: bigint | undefined;
  readonly maxAgeMs: number | undefined;
}

export const metastreamOf = (stream: string): string => `$$${stream}`;

const decoder = new TextDecoder();

/** The newest metadata event of a stream; an empty object if there is none or it is not a JSON object. */
export const rawMetadata = (log: EventLog, stream: string): Record<string, unknown> => {
  const newest = log.eventsOf(metastreamOf(stream)).at(-1);
  if (newest === undefined) return {};
  try {
    const parsed: unknown = JSON.parse(decoder.decode(newest.data));
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {}; // The server also ignores metadata that it cannot parse.
  }
};

export const metadataOf = (log: EventLog, stream: string): StreamMetadata => {
  // Only the newest metadata event counts, and metadata has no metadata.
  if (stream.startsWith('$$')) return { truncateBefore: 0n, maxCount: 1n, maxAgeMs: undefined };
  const { $tb, $maxCount, $maxAge } = rawMetadata(log, stream);
  return {
    truncateBefore: typeof $tb !== 'number' ? 0n : BigInt($tb) >= DELETED ? DELETED : BigInt($tb),
    maxCount: typeof $maxCount === 'number' ? BigInt($maxCount) : undefined,
    maxAgeMs: typeof $maxAge === 'number' ? $maxAge * 1_000 : undefined,
  };
};

export const isSoftDeleted = (log: EventLog, stream: string): boolean =>
  metadataOf(log, stream).truncateBefore === DELETED;
