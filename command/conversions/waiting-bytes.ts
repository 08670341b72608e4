/** For all sources of this process. */
export interface WaitingBytes {
  /** @returns false when the bytes exceed the limit; a single call always fits */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** Nine calls of maximum size, or about ninety with 10,000 usual events: more than can be answered in time. */
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
