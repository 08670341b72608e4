/** How much of what was sent waits for an answer, in all sources of this process. */
export interface WaitingBytes {
  /** @returns false when it does not fit beside what waits; one call alone always does */
  take(bytes: number): boolean;
  /** What was taken is answered. */
  give(bytes: number): void;
}

/** Nine calls of the largest size, some ninety of 10,000 usual events: more than are answered in time. */
const BYTES_MAX = 128 * 1024 * 1024;

export const createWaitingBytes = (bytesMax = BYTES_MAX): WaitingBytes => {
  let taken = 0;
  return {
    take: (bytes) => {
      if (taken > 0 && taken + bytes > bytesMax) return false;
      taken += bytes;
      return true;
    },
    give: (bytes) => {
      taken -= bytes;
    },
  };
};
