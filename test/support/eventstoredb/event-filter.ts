import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import type { LogRecord } from './event-log.ts';

export interface EventFilter {
  matches(record: LogRecord): boolean;
  /** The maximum of records that one page of a read considers. */
  readonly window: number;
  /** Considered records between two checkpoints. */
  readonly checkpointInterval: number;
}

const DEFAULT_WINDOW = 32;

/** Prefixes or a regular expression (here JavaScript's, on the server .NET's) on stream names or event types. */
export const eventFilterOf = (options: ReadReq.Options): EventFilter | undefined => {
  const filter = options.getFilter();
  if (filter === undefined) return undefined;
  const onType = filter.getEventType();
  const expression = onType ?? filter.getStreamIdentifier();
  const prefixes = expression?.getPrefixList() ?? [];
  const regex = new RegExp(expression?.getRegex() ?? '', 'u');
  const window = filter.hasMax() ? filter.getMax() : DEFAULT_WINDOW;
  return {
    matches: ({ type, stream }) => {
      const name = onType === undefined ? stream : type;
      return prefixes.length > 0 ? prefixes.some((prefix) => name.startsWith(prefix)) : regex.test(name);
    },
    window,
    checkpointInterval: window * filter.getCheckpointintervalmultiplier(),
  };
};
