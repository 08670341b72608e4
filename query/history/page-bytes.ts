/**
 * A page of entries ends before the one that would make its JSON longer than this: one event may hold a megabyte of what
 * was there before and after it. Its first entry it always has, so that whoever goes on comes to the end.
 */
export const PAGE_BYTES_MAX = 2 * 1024 * 1024;

/** As it is sent. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
