import { UnreadableMediaError, type MediaFacts } from './media-facts.ts';
import { disableTypes, imageSize, types } from 'image-size';
import type { ByteSource } from '../../shared/storage/object-store.ts';
import { FILM } from '../../shared/storage/media-types.ts';
import { readMp4 } from './mp4.ts';

// Disables the package's other parsers, because uploads are untrusted.
disableTypes(types.filter((type) => !['png', 'gif', 'webp', 'jpg'].includes(type)));

/** In a JPEG the size follows thumbnails and profiles. Malicious 128 KiB block the process for 50 ms. */
const IMAGE_BYTES = new Map([
  ['image/png', 64],
  ['image/apng', 64],
  ['image/gif', 64],
  ['image/webp', 64],
  ['image/jpeg', 128 * 1024],
]);

/** Reads a bounded number of bytes. @param detected media type @throws UnreadableMediaError */
export const readMedia = async (detected: string | undefined, source: ByteSource): Promise<MediaFacts> => {
  if (detected === undefined) return {};
  if (FILM.test(detected)) return readMp4(source);
  const bytes = IMAGE_BYTES.get(detected);
  return bytes === undefined ? {} : readImage(detected, await source.readAt(0, bytes));
};

/** Returns the displayed size: EXIF orientations 5 to 8 turn the picture (EXIF 2.3, 4.6.4). */
const readImage = (detected: string, head: Buffer): MediaFacts => {
  try {
    // A copy, because the package reads the memory behind a view.
    const { width, height, orientation = 1 } = imageSize(new Uint8Array(head));
    if (width === 0 || height === 0) throw new RangeError('an image without pixels');
    return orientation >= 5 && orientation <= 8 ? { width: height, height: width } : { width, height };
  } catch (error) {
    // The package does not support every JPEG, and in some the size comes after the bytes read.
    if (detected === 'image/jpeg') return {};
    throw new UnreadableMediaError(error instanceof Error ? error.message : String(error));
  }
};
