import { UnreadableMediaError, type MediaFacts } from './media-facts.ts';
import { disableTypes, imageSize, types } from 'image-size';
import type { ByteSource } from '../../shared/storage/object-store.ts';
import { FILM } from '../../shared/storage/media-types.ts';
import { readMp4 } from './mp4.ts';

// What else the package reads is not asked for: its parsers are not to see bytes of strangers.
disableTypes(types.filter((type) => !['png', 'gif', 'webp', 'jpg'].includes(type)));

/**
 * How much of an image is looked at: a JPEG has its size behind thumbnails and colour profiles. The package goes through
 * 128 KiB that are made for it in some 50 ms, in which this process does nothing else.
 */
const IMAGE_BYTES = new Map([
  ['image/png', 64],
  ['image/apng', 64],
  ['image/gif', 64],
  ['image/webp', 64],
  ['image/jpeg', 128 * 1024],
]);

/**
 * Reads dimensions and duration of PNG, JPEG, GIF, WebP and MP4; of anything else nothing. Looks at a bounded number of
 * bytes, however large the file is and whatever it claims.
 * @param detected media type
 * @throws UnreadableMediaError
 */
export const readMedia = async (detected: string | undefined, source: ByteSource): Promise<MediaFacts> => {
  if (detected === undefined) return {};
  if (FILM.test(detected)) return readMp4(source);
  const bytes = IMAGE_BYTES.get(detected);
  return bytes === undefined ? {} : readImage(detected, await source.readAt(0, bytes));
};

/** Width and height are those that a viewer shows: EXIF orientations 5 to 8 turn the picture (EXIF 2.3, 4.6.4). */
const readImage = (detected: string, head: Buffer): MediaFacts => {
  try {
    // A copy: the package reads past the end of a view into the memory behind it.
    const { width, height, orientation = 1 } = imageSize(new Uint8Array(head));
    if (width === 0 || height === 0) throw new RangeError('an image without pixels');
    return orientation >= 5 && orientation <= 8 ? { width: height, height: width } : { width, height };
  } catch (error) {
    // Not every form of JPEG is known to the package, and some have their size behind what is looked at.
    if (detected === 'image/jpeg') return {};
    throw new UnreadableMediaError(error instanceof Error ? error.message : String(error));
  }
};
