import type { Signature } from './signature.ts';

/** What is known of a media type. */
export interface MediaType {
  readonly kind: 'image' | 'video' | 'audio' | 'html' | 'text' | 'document' | 'other';
  /** Of the files that hold it: one for each type, so that the type follows from a file's name. */
  readonly extension: string;
  /** How its bytes begin; `text`: with nothing that is anything else. Absent: anything may be in it. */
  readonly signatures?: readonly Signature[] | 'text';
  /** Nothing in it can run, whoever opens it: a browser may show it where it is. */
  readonly isPassive?: true;
  /** What browsers are told instead. */
  readonly servedAs?: string;
}

const types: Readonly<Record<string, MediaType>> = {
  'image/png': { kind: 'image', extension: 'png', signatures: ['png'], isPassive: true },
  'image/jpeg': { kind: 'image', extension: 'jpg', signatures: ['jpeg'], isPassive: true },
  'image/gif': { kind: 'image', extension: 'gif', signatures: ['gif'], isPassive: true },
  'image/webp': { kind: 'image', extension: 'webp', signatures: ['webp'], isPassive: true },
  'image/avif': { kind: 'image', extension: 'avif', signatures: ['avif'], isPassive: true },
  'image/bmp': { kind: 'image', extension: 'bmp', signatures: ['bmp'], isPassive: true },
  'image/tiff': { kind: 'image', extension: 'tiff', signatures: ['tiff'], isPassive: true },
  'image/x-icon': { kind: 'image', extension: 'ico', signatures: ['ico'], isPassive: true },
  'image/svg+xml': { kind: 'image', extension: 'svg', signatures: 'text' },
  'video/mp4': { kind: 'video', extension: 'mp4', signatures: ['mp4'], isPassive: true },
  'video/quicktime': { kind: 'video', extension: 'mov', signatures: ['mp4'], isPassive: true },
  'video/webm': { kind: 'video', extension: 'webm', signatures: ['webm'], isPassive: true },
  'audio/mpeg': { kind: 'audio', extension: 'mp3', signatures: ['mp3'], isPassive: true },
  'audio/mp4': { kind: 'audio', extension: 'm4a', signatures: ['mp4'], isPassive: true },
  'audio/aac': { kind: 'audio', extension: 'aac', signatures: ['aac'], isPassive: true },
  'audio/wav': { kind: 'audio', extension: 'wav', signatures: ['wav'], isPassive: true },
  'audio/ogg': { kind: 'audio', extension: 'ogg', signatures: ['ogg'], isPassive: true },
  'audio/flac': { kind: 'audio', extension: 'flac', signatures: ['flac'], isPassive: true },
  'text/html': { kind: 'html', extension: 'html', signatures: 'text' },
  'text/plain': { kind: 'text', extension: 'txt', signatures: 'text' },
  'text/css': { kind: 'text', extension: 'css', signatures: 'text' },
  'text/csv': { kind: 'text', extension: 'csv', signatures: 'text' },
  'text/vtt': { kind: 'text', extension: 'vtt', signatures: 'text' },
  // As what it is, a page of this host could load it, or make it its service worker, which no other header prevents.
  'text/javascript': { kind: 'text', extension: 'js', signatures: 'text', servedAs: 'text/plain' },
  'application/json': { kind: 'text', extension: 'json', signatures: 'text' },
  'application/xml': { kind: 'document', extension: 'xml', signatures: 'text' },
  'application/pdf': { kind: 'document', extension: 'pdf', signatures: ['pdf'] },
  'application/zip': { kind: 'other', extension: 'zip', signatures: ['zip'] },
};

const other: MediaType = { kind: 'other', extension: 'bin' };

/** RFC 6838, 4.2, in lower case and without parameters. */
export const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/;

/** @param name of a media type, as `MEDIA_TYPE` has it; one that is not known is bytes of no known form */
export const mediaTypeOf = (name: string): MediaType => types[name] ?? other;

const byExtension = new Map(
  Object.entries(types).map(([name, type]) => [type.extension, { name, ...type }] as const),
);

/** The type that a file of this name is served as, and whether it is passive. */
export const servedTypeOf = (fileName: string): { readonly name: string; readonly isPassive: boolean } => {
  const type = byExtension.get(fileName.slice(fileName.lastIndexOf('.') + 1));
  return {
    name: type?.servedAs ?? type?.name ?? 'application/octet-stream',
    isPassive: type?.isPassive === true,
  };
};
