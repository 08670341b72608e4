import { KEPT_DAYS } from '../../domain/notifications/kept-days.ts';
import { LATE_IDX } from '../../domain/notifications/feed-order.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { KeyRing } from '../../shared/secrets/key-ring.ts';
import { createTextSealer } from '../../shared/secrets/sealed-text.ts';

/** The place of a notification in the feed, or, with `LAST_IDX`, the end of a position of the log. */
export interface FeedPlace {
  readonly position: string;
  readonly idx: number;
  /**
   * ISO 8601. What follows the place in the feed happened then or later. At the end of the feed it is the present,
   * so two cursors differ even if no account has written in between.
   */
  readonly at: string;
}

/** More than any notification of one event has, and less than those of streams that were parked (`LATE_IDX`). */
export const LAST_IDX = LATE_IDX - 1;

/** Valid for one account, with any filters and page size. */
export interface FeedCursors {
  of(customerId: number, place: FeedPlace): Promise<string>;
  /**
   * @param field in the error: `after`, or a header
   * @throws ApiError VALIDATION_ERROR if the cursor belongs to another account or was modified
   */
  read(customerId: number, cursor: string, field: string): Promise<FeedPlace>;
}

/** Encrypted: a position of the log would show one account how busy the others are. */
export const createFeedCursors = (ask: () => Promise<KeyRing>): FeedCursors => {
  const sealer = createTextSealer(ask, 'notifications-cursor');
  return {
    of: (customerId, { position, idx, at }) => sealer.seal(`${position}|${idx}|${at}`, String(customerId)),
    read: async (customerId, cursor, field) => {
      const text = await sealer.open(cursor, String(customerId));
      const [position, idx, at] = text?.split('|') ?? [];
      if (position === undefined || idx === undefined || at === undefined) throw badCursor(field);
      return { position, idx: Number(idx), at };
    },
  };
};

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Notifications after it may have been deleted: the reader has missed them. */
export const isExpired = ({ at }: FeedPlace, nowMs: number): boolean =>
  Date.parse(at) < nowMs - KEPT_DAYS * DAY_MS;

const badCursor = (field: string): ApiError =>
  new ApiError({
    code: 'VALIDATION_ERROR',
    message:
      'This cursor was not given out for the notifications of your account. Send one that an answer or a frame contained, unchanged.',
    field,
  });
