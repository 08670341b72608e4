import type { AppendRequest } from '../append-request.ts';
import type { StreamTail } from './stream-tails.ts';

/** How an append to `any` stands to the last events of its stream. */
export type Found =
  /** To be appended behind `current`. */
  | { readonly outcome: 'new'; readonly current: number | 'no-stream' }
  /** Already there; the revision of its last event. */
  | { readonly outcome: 'repeat'; readonly revision: number }
  /** Its first event is there, followed by others than its own. */
  | { readonly outcome: 'conflict'; readonly current: number | 'no-stream' };

export const repeatIn = ({ revision, ids }: StreamTail, { events }: AppendRequest): Found => {
  const current = revision < 0 ? 'no-stream' : revision;
  const first = ids.lastIndexOf(events[0]?.id ?? '');
  if (first < 0) return { outcome: 'new', current };
  const isThere = events.every(({ id }, index) => ids[first + index] === id);
  if (!isThere) return { outcome: 'conflict', current };
  return { outcome: 'repeat', revision: revision - (ids.length - first) + events.length };
};
