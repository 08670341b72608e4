export interface MediaType {
  readonly kind: 'image' | 'video' | 'audio' | 'html' | 'text' | 'document' | 'other';
  /** Unique: the file name determines the type. */
  readonly extension: string;
  /** Accepted detected types; `text`: any bytes not detected as a binary type. Default: the type itself. */
  readonly bytes?: RegExp | 'text' | 'any';
  /** The type cannot contain code, so browsers may show it inline. */
  readonly isPassive?: true;
  readonly servedAs?: string;
}

/** The brand that the encoder writes into the container does not name the type of the first track. */
export const FILM = /^(video|audio)\/(mp4|quicktime|x-m4[av]|3gpp2?)$/;
/** Many document and program formats are ZIP archives. */
const ARCHIVE =
  /^(application\/(zip|java-archive|epub\+zip|x-xpinstall|vnd\.(openxmlformats-|oasis\.|android\.|visio$|ms-.+\.macroenabled).*)|model\/3mf)$/;

const types: Readonly<Record<string, MediaType>> = {
  'image/png': { kind: 'image', extension: 'png', bytes: /^image\/a?png$/, isPassive: true },
  'image/jpeg': { kind: 'image', extension: 'jpg', isPassive: true },
  'image/gif': { kind: 'image', extension: 'gif', isPassive: true },
  'image/webp': { kind: 'image', extension: 'webp', isPassive: true },
  'image/avif': { kind: 'image', extension: 'avif', isPassive: true },
  'image/bmp': { kind: 'image', extension: 'bmp', isPassive: true },
  'image/tiff': { kind: 'image', extension: 'tiff', isPassive: true },
  'image/x-icon': { kind: 'image', extension: 'ico', isPassive: true },
  'image/svg+xml': { kind: 'image', extension: 'svg', bytes: 'text' },
  'video/mp4': { kind: 'video', extension: 'mp4', bytes: FILM, isPassive: true },
  'video/quicktime': { kind: 'video', extension: 'mov', bytes: FILM, isPassive: true },
  'video/webm': { kind: 'video', extension: 'webm', isPassive: true },
  'audio/mpeg': { kind: 'audio', extension: 'mp3', isPassive: true },
  'audio/mp4': { kind: 'audio', extension: 'm4a', bytes: FILM, isPassive: true },
  'audio/aac': { kind: 'audio', extension: 'aac', isPassive: true },
  'audio/wav': { kind: 'audio', extension: 'wav', isPassive: true },
  'audio/ogg': { kind: 'audio', extension: 'ogg', bytes: /^(audio|video|application)\/ogg/, isPassive: true },
  'audio/flac': { kind: 'audio', extension: 'flac', isPassive: true },
  'text/html': { kind: 'html', extension: 'html', bytes: 'text' },
  'text/plain': { kind: 'text', extension: 'txt', bytes: 'text' },
  'text/css': { kind: 'text', extension: 'css', bytes: 'text' },
  'text/csv': { kind: 'text', extension: 'csv', bytes: 'text' },
  'text/vtt': { kind: 'text', extension: 'vtt', bytes: 'text' },
  // A page of this host could run JavaScript or register it as a service worker. No header prevents that.
  'text/javascript': { kind: 'text', extension: 'js', bytes: 'text', servedAs: 'text/plain' },
  'application/json': { kind: 'text', extension: 'json', bytes: 'text' },
  'application/xml': { kind: 'document', extension: 'xml', bytes: 'text' },
  'application/pdf': { kind: 'document', extension: 'pdf' },
  'application/zip': { kind: 'other', extension: 'zip', bytes: ARCHIVE },
};

const other: MediaType = { kind: 'other', extension: 'bin', bytes: 'any' };

/** @param name without parameters, in lower case; for an unknown type any bytes are accepted */
export const mediaTypeOf = (name: string): MediaType => types[name] ?? other;

const byExtension = new Map(
  Object.entries(types).map(([name, type]) => [type.extension, { name, ...type }] as const),
);

export const servedTypeOf = (fileName: string): { readonly name: string; readonly isPassive: boolean } => {
  const type = byExtension.get(fileName.slice(fileName.lastIndexOf('.') + 1));
  return {
    name: type?.servedAs ?? type?.name ?? 'application/octet-stream',
    isPassive: type?.isPassive === true,
  };
};
