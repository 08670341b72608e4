/** A client that returns within this time receives every notification. */
export const KEPT_DAYS = 30;
