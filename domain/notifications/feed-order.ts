/**
 * The feed is ordered by the position of the event in the log, then by `idx`. A stream that was parked is applied when
 * readers have passed its events: they would never see them in the order of the log. So its notifications follow the
 * last applied position, with an `idx` from here on.
 */
export const LATE_IDX = 1_000;
