import { fileTypeFromBuffer } from 'file-type';
import { mediaTypeOf } from '../../shared/storage/media-types.ts';

/** The package looks no further in most files; what it unpacks on the way it bounds itself. */
export const HEAD_BYTES = 4_100;

/**
 * @param head the first `HEAD_BYTES`, or all there are
 * @returns a media type by how the bytes begin; undefined when that says nothing, as of text
 */
export const detectType = async (head: Buffer): Promise<string | undefined> => {
  // Made to mislead, they may break its parsers: then they are of no type.
  const detected = await fileTypeFromBuffer(head).catch(() => undefined);
  return detected?.mime ?? FOLLOWED.find(([, start]) => head.toString('latin1', 0, 4).startsWith(start))?.[0];
};

/**
 * In these formats the package follows an offset, to a TIFF's directory or behind an MP3's tag. It says nothing when the
 * offset leads past the head, as in most TIFF files, or to padding.
 */
const FOLLOWED = [
  ['image/tiff', 'II*\0'],
  ['image/tiff', 'MM\0*'],
  ['audio/mpeg', 'ID3'],
] as const;

/** Whether bytes that begin so and were detected so may be of the media type. */
export const mayBe = (mimeType: string, detected: string | undefined, head: Buffer): boolean => {
  const { bytes } = mediaTypeOf(mimeType);
  if (bytes === 'any') return true;
  if (bytes === undefined) return detected === mimeType;
  if (bytes instanceof RegExp) return detected !== undefined && bytes.test(detected);
  return detected === undefined || TEXTUAL.test(detected) || isText(head);
};

/** Not every type with `xml` in its name: office documents are archives. */
const TEXTUAL = /^(text\/.+|application\/xml)$/;

/** Some types begin with two letters, as `BM`, with which a text may begin as well. */
const isText = (head: Buffer): boolean => {
  try {
    // The last character may be cut off.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return !/[^\P{Cc}\s]/u.test(text);
  } catch {
    return false;
  }
};
