/** An event may change a megabyte. A page ends before the limit, but always has one entry. */
export const PAGE_BYTES_MAX = 2 * 1024 * 1024;

export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
