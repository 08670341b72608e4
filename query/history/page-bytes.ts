/**
 * Maximum bytes of a page's JSON: one event may contain a megabyte before and after a change. A page ends before the
 * entry that would exceed it, but always has one entry, so that a client reaches the end.
 */
export const PAGE_BYTES_MAX = 2 * 1024 * 1024;

export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
