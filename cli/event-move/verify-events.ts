import {
  START,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../../shared/event-store/event-store.ts';
import { fractionOf } from './copy-events.ts';
import { bucketOf, contentOf, createLogDigest, type LogDigest } from './log-digest.ts';
import { persist } from './persist.ts';
import type { Progress } from '../command.ts';

export interface Difference {
  readonly stream: string;
  /** The first revision that differs, or that one store lacks. */
  readonly revision: number;
  readonly problem: 'missing in the target' | 'only in the target' | 'not the same';
}

export interface Verification {
  readonly source: { readonly events: number; readonly streams: number };
  readonly target: { readonly events: number; readonly streams: number };
  readonly same: boolean;
  readonly differences: readonly Difference[];
}

const PAGE_EVENTS = 1_000;
const DIFFERENCES_MAX = 20;
/** Only streams of this many buckets are compared in detail, which bounds memory. */
const BUCKETS_NAMED_MAX = 64;

export const verifyEvents = async (
  from: EventStore,
  to: EventStore,
  onProgress?: (progress: Progress) => void,
): Promise<Verification> => {
  const digests = [createLogDigest(), createLogDigest()] as const;
  const fractions = [0, 0];
  const readInto = (store: EventStore, digest: LogDigest, side: 0 | 1): Promise<void> =>
    eachEvent(
      store,
      (event) => digest.add(event),
      (fraction) => {
        fractions[side] = fraction;
        onProgress?.({ events: digests[0].events, fraction: Math.min(...fractions) });
      },
    );
  await Promise.all([readInto(from, digests[0], 0), readInto(to, digests[1], 1)]);
  const [source, target] = digests;
  const differing = source.differing(target);
  return {
    source: { events: source.events, streams: source.streams },
    target: { events: target.events, streams: target.streams },
    same: differing.length === 0,
    differences: differing.length === 0 ? [] : await findDifferences(from, to, differing),
  };
};

const eachEvent = async (
  store: EventStore,
  take: (event: RecordedEvent) => void,
  onPage?: (fraction: number) => void,
): Promise<void> => {
  const end = await persist(() => store.head());
  for (let after: Position = START; ;) {
    const page = await persist(() => store.readAll({ after, limit: PAGE_EVENTS }));
    const last = page.at(-1);
    if (last === undefined) return;
    for (const event of page) take(event);
    after = last.position;
    onPage?.(fractionOf(store, after, end));
  }
};

const findDifferences = async (
  from: EventStore,
  to: EventStore,
  differing: readonly number[],
): Promise<readonly Difference[]> => {
  const named = new Set(differing.slice(0, BUCKETS_NAMED_MAX));
  const streams = new Set<string>();
  const collect = ({ stream }: RecordedEvent): void => {
    if (named.has(bucketOf(stream))) streams.add(stream);
  };
  await eachEvent(from, collect);
  await eachEvent(to, collect);
  const differences: Difference[] = [];
  for (const stream of streams) {
    const difference = await compareStream(from, to, stream);
    if (difference !== undefined) differences.push(difference);
    if (differences.length === DIFFERENCES_MAX) break;
  }
  return differences;
};

const compareStream = async (
  from: EventStore,
  to: EventStore,
  stream: string,
): Promise<Difference | undefined> => {
  const others = to.readStream(stream)[Symbol.asyncIterator]();
  try {
    let revision = 0;
    for await (const event of from.readStream(stream)) {
      ({ revision } = event);
      const other = await others.next();
      if (other.done === true) return { stream, revision, problem: 'missing in the target' };
      if (contentOf(other.value) !== contentOf(event)) return { stream, revision, problem: 'not the same' };
      revision += 1;
    }
    const more = await others.next();
    return more.done === true ? undefined : { stream, revision, problem: 'only in the target' };
  } finally {
    await others.return?.();
  }
};
