import type { AppendRequest } from '../append-request.ts';
import type { StreamTail } from './stream-tails.ts';

export type RepeatCheck =
  | { readonly outcome: 'new'; readonly current: number | 'no-stream' }
  | { readonly outcome: 'repeat'; readonly revision: number }
  /** Other events follow the first one. */
  | { readonly outcome: 'conflict'; readonly current: number | 'no-stream' };

export const repeatIn = ({ revision, ids }: StreamTail, { events }: AppendRequest): RepeatCheck => {
  const current = revision < 0 ? 'no-stream' : revision;
  const first = ids.lastIndexOf(events[0]?.id ?? '');
  if (first < 0) return { outcome: 'new', current };
  const isThere = events.every(({ id }, index) => ids[first + index] === id);
  if (!isThere) return { outcome: 'conflict', current };
  return { outcome: 'repeat', revision: revision - (ids.length - first) + events.length };
};
