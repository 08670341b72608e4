import { LRUCache } from 'lru-cache';
import type { EventStore } from '../event-store/event-store.ts';
import type { LoadedStream } from './load-stream.ts';

type KnownStream<State> = Pick<LoadedStream<State>, 'state' | 'revision' | 'correlationId' | 'commands'>;

/** Recent states of streams, to save reads. An outdated state causes a conflict, and then the stream is read. */
export interface KnownStreams {
  /** Undefined if none is cached, or if it includes events of the command. */
  without<State>(commandId: string, stream: string, decider: object): KnownStream<State> | undefined;
  keep<State>(stream: string, decider: object, seen: KnownStream<State>): void;
}

const STREAMS_MAX = 500;
/** Characters of JSON: all states together, and one state. */
const STATES_MAX = 16 * 1024 * 1024;
const STATE_MAX = 64 * 1024;
const EVENTS_MAX = 200;

const knownOf = new WeakMap<EventStore, KnownStreams>();

export const knownStreamsOf = (store: EventStore): KnownStreams => {
  const known = knownOf.get(store) ?? createKnownStreams();
  knownOf.set(store, known);
  return known;
};

const createKnownStreams = (): KnownStreams => {
  const streams = new LRUCache<string, { readonly decider: object; readonly known: KnownStream<unknown> }>({
    max: STREAMS_MAX,
    maxSize: STATES_MAX,
    maxEntrySize: STATE_MAX,
    sizeCalculation: ({ known }) => JSON.stringify(known.state).length,
  });
  return {
    without: <State>(commandId: string, stream: string, decider: object) => {
      const kept = streams.get(stream);
      const isWithout = kept?.decider === decider && kept.known.commands?.has(commandId) === false;
      return isWithout ? (kept.known as KnownStream<State>) : undefined;
    },
    keep: (stream, decider, { state, revision, correlationId, commands }) => {
      streams.delete(stream);
      if (commands === undefined || typeof revision !== 'number' || revision >= EVENTS_MAX) return;
      const known = { state, revision, commands, ...(correlationId !== undefined && { correlationId }) };
      streams.set(stream, { decider, known });
    },
  };
};
