export type UploadBytesMax = (mimeType: string) => number;

/** 100 MiB. */
const DEFAULT = 104_857_600;
const LIMIT = /^(?:([a-z0-9!#$&^_.+-]{1,63}\/(?:\*|[a-z0-9!#$&^_.+-]{1,63}))=)?([1-9]\d{0,9})$/;

/** E.g. `52428800,image/*=10485760,image/gif=1048576`; the most specific applies. @throws RangeError */
export const parseUploadLimits = (text: string): UploadBytesMax => {
  const limits = new Map<string, number>();
  for (const entry of text.split(',')) {
    const [, type = '*', bytes] = LIMIT.exec(entry.trim()) ?? [];
    if (bytes === undefined || limits.has(type)) {
      throw new RangeError('must be bytes, or TYPE=bytes, each type once, separated by commas');
    }
    limits.set(type, Number(bytes));
  }
  return (mimeType) =>
    limits.get(mimeType) ??
    limits.get(`${mimeType.slice(0, mimeType.indexOf('/'))}/*`) ??
    limits.get('*') ??
    DEFAULT;
};
