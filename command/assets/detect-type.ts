import { fileTypeFromBuffer } from 'file-type';
import { mediaTypeOf } from '../../shared/storage/media-types.ts';

/** Enough for the package in most files. It bounds nested data itself. */
export const HEAD_BYTES = 4_100;

/** @param head the first `HEAD_BYTES` @returns undefined if no type matches, e.g. for text */
export const detectType = async (head: Buffer): Promise<string | undefined> => {
  // Malicious bytes may break the package's parsers; the type is then unknown.
  const detected = await fileTypeFromBuffer(head).catch(() => undefined);
  return detected?.mime ?? FOLLOWED.find(([, start]) => head.toString('latin1', 0, 4).startsWith(start))?.[0];
};

/** The package follows an offset here (TIFF directory, end of MP3 tag), which may lead beyond the head. */
const FOLLOWED = [
  ['image/tiff', 'II*\0'],
  ['image/tiff', 'MM\0*'],
  ['audio/mpeg', 'ID3'],
] as const;

export const mayBe = (mimeType: string, detected: string | undefined, head: Buffer): boolean => {
  const { bytes } = mediaTypeOf(mimeType);
  if (bytes === 'any') return true;
  if (bytes === undefined) return detected === mimeType;
  if (bytes instanceof RegExp) return detected !== undefined && bytes.test(detected);
  return detected === undefined || TEXTUAL.test(detected) || isText(head);
};

/** Office documents have `xml` in their type names, but are archives. */
const TEXTUAL = /^(text\/.+|application\/xml)$/;

const BYTE_ORDER_MARKS = [
  ['\u{ff}\u{fe}', 'utf-16le'],
  ['\u{fe}\u{ff}', 'utf-16be'],
] as const;

/** Some types start with two letters, such as `BM`, and so may a text; its byte order mark may look like MP3. */
const isText = (head: Buffer): boolean => {
  const [, encoding = 'utf-8'] =
    BYTE_ORDER_MARKS.find(([mark]) => head.toString('latin1', 0, 2) === mark) ?? [];
  try {
    // The last character may be incomplete.
    const text = new TextDecoder(encoding, { fatal: true }).decode(head, { stream: true });
    return !/[^\P{Cc}\s]/u.test(text);
  } catch {
    return false;
  }
};
