import type { ResolvedEvent } from '@eventstore/db-client';
import type { AppendRequest } from '../append-request.ts';
import type { Position } from '../event-store.ts';
import { printPosition } from './log-position.ts';

/** How an append to `any` stands to the last events of its stream. */
export type Found =
  /** To be appended behind `current`. */
  | { readonly outcome: 'new'; readonly current: number | 'no-stream' }
  /** Already there; the place of its last event. */
  | { readonly outcome: 'repeat'; readonly revision: number; readonly position: Position }
  /** Its first event is there, followed by others than its own. */
  | { readonly outcome: 'conflict'; readonly current: number | 'no-stream' };

/** @param tail the last events of the stream, newest first */
export const repeatIn = (tail: readonly ResolvedEvent[], { events }: AppendRequest): Found => {
  const last = tail[0]?.event;
  const current = last === undefined ? 'no-stream' : Number(last.revision);
  const first = tail.findIndex(({ event }) => event?.id === events[0]?.id);
  if (first < 0) return { outcome: 'new', current };
  const isThere = events.every(({ id }, index) => tail[first - index]?.event?.id === id);
  const end = tail[first - events.length + 1]?.event;
  if (!isThere || end === undefined) return { outcome: 'conflict', current };
  return { outcome: 'repeat', revision: Number(end.revision), position: printPosition(end.position) };
};
