import { createHash } from 'node:crypto';
import type { RecordedEvent } from '../../shared/event-store/event-store.ts';

const { imul } = Math;

/** Streams share a fixed number of buckets, so memory does not grow with the log. */
const BUCKETS = 65_536;

/** Sums hashes per bucket of streams: the order of streams is free, that within a stream is checked. */
export interface LogDigest {
  readonly events: number;
  readonly streams: number;
  add(event: RecordedEvent): void;
  differing(other: LogDigest): readonly number[];
  isSame(other: LogDigest, bucket: number): boolean;
  bucket(bucket: number): string;
}

export const createLogDigest = (): LogDigest => {
  const counts = new Float64Array(BUCKETS);
  const high = new BigUint64Array(BUCKETS);
  const low = new BigUint64Array(BUCKETS);
  let events = 0;
  let streams = 0;
  const digest: LogDigest = {
    get events() {
      return events;
    },
    get streams() {
      return streams;
    },
    add: (event) => {
      const bucket = bucketOf(event.stream);
      const hash = hashOf(event);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      // The arrays drop bits above the low 64, so the sums wrap around.
      high[bucket] = (high[bucket] ?? 0n) + hash.readBigUInt64BE(0);
      low[bucket] = (low[bucket] ?? 0n) + hash.readBigUInt64BE(8);
      events += 1;
      if (event.revision === 0) streams += 1;
    },
    bucket: (bucket) => `${counts[bucket]} ${high[bucket]} ${low[bucket]}`,
    isSame: (other, bucket) => other.bucket(bucket) === digest.bucket(bucket),
    differing: (other) =>
      Array.from({ length: BUCKETS }, (_, bucket) => bucket).filter(
        (bucket) => !digest.isSame(other, bucket),
      ),
  };
  return digest;
};

export const bucketOf = (stream: string): number => {
  let hash = 0x811c9dc5;
  for (let index = 0; index < stream.length; index += 1) {
    hash = imul(hash ^ stream.charCodeAt(index), 0x01000193);
  }
  return (hash ^ (hash >>> 16)) & (BUCKETS - 1);
};

const hashOf = ({ stream, revision, id, type, data, metadata }: RecordedEvent): Buffer =>
  createHash('sha256').update(contentOf({ stream, revision, id, type, data, metadata })).digest();

type Content = Omit<RecordedEvent, 'position' | 'recordedAt'>;
export const contentOf = ({ stream, revision, id, type, data, metadata }: Content): string =>
  JSON.stringify([stream, revision, id, type, data, metadata]);
