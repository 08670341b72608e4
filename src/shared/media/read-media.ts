import type { ByteSource } from './byte-source.ts';
import { UnreadableMediaError, type MediaFacts } from './media-facts.ts';
import { readMp4 } from './mp4.ts';
import type { Signature } from './signature.ts';

/**
 * Reads dimensions and duration of PNG, JPEG, GIF, WebP and MP4; of anything else nothing. Looks at a few bytes here
 * and there, however large the file is and whatever it claims.
 * @throws UnreadableMediaError
 */
export const readMedia = async (
  signature: Signature | undefined,
  source: ByteSource,
): Promise<MediaFacts> => {
  const read = signature === undefined ? undefined : readers[signature];
  return read === undefined ? {} : read(source);
};

const dimensions = (width: number, height: number): MediaFacts => {
  if (width === 0 || height === 0) throw new UnreadableMediaError('an image without pixels');
  return { width, height };
};

const need = (head: Buffer, length: number): void => {
  if (head.length < length) throw new UnreadableMediaError('the header is cut off');
};

/** ISO 15948, 11.2.1: the first chunk is IHDR. */
const readPng = async (source: ByteSource): Promise<MediaFacts> => {
  const head = await source.readAt(0, 24);
  need(head, 24);
  if (head.readUInt32BE(8) !== 13 || head.toString('latin1', 12, 16) !== 'IHDR') {
    throw new UnreadableMediaError('no IHDR');
  }
  return dimensions(head.readUInt32BE(16), head.readUInt32BE(20));
};

/** GIF89a, 18: the logical screen. */
const readGif = async (source: ByteSource): Promise<MediaFacts> => {
  const head = await source.readAt(0, 10);
  need(head, 10);
  return dimensions(head.readUInt16LE(6), head.readUInt16LE(8));
};

/** RFC 9649: the first chunk is one of three; each has the canvas in a form of its own. */
const readWebp = async (source: ByteSource): Promise<MediaFacts> => {
  const head = await source.readAt(0, 30);
  need(head, 20);
  if (head.readUInt32LE(4) + 8 > source.bytes) throw new UnreadableMediaError('the end is missing');
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8X':
      need(head, 30);
      return dimensions(head.readUIntLE(24, 3) + 1, head.readUIntLE(27, 3) + 1);
    case 'VP8L': {
      need(head, 25);
      if (head[20] !== 0x2f) throw new UnreadableMediaError('no VP8L');
      const packed = head.readUInt32LE(21);
      return dimensions((packed & 0x3fff) + 1, ((packed >>> 14) & 0x3fff) + 1);
    }
    case 'VP8 ':
      need(head, 30);
      if (head.readUIntBE(23, 3) !== 0x9d012a) throw new UnreadableMediaError('no key frame');
      return dimensions(head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff);
    default:
      throw new UnreadableMediaError('no image');
  }
};

/** Far more than any camera writes. */
const SEGMENTS_MAX = 2_000;
/** Start of frame, but for the tables DHT, JPG and DAC that lie among them (ITU T.81, B.1.1.3). */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
/** Of EXIF, in an APP1 segment: its first directory is in the first bytes. */
const EXIF_BYTES = 4_096;

/** Width and height are those that a viewer shows: EXIF may turn the picture. */
const readJpeg = async (source: ByteSource): Promise<MediaFacts> => {
  let turned = false;
  for (let at = 2, segments = 0; segments < SEGMENTS_MAX; segments++) {
    const head = await source.readAt(at, 9);
    need(head, 4);
    if (head[0] !== 0xff) throw new UnreadableMediaError('no segment');
    const marker = head[1] ?? 0;
    // Bytes of filling.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (isFrame(marker)) {
      need(head, 9);
      const [height, width] = [head.readUInt16BE(5), head.readUInt16BE(7)];
      return turned ? dimensions(height, width) : dimensions(width, height);
    }
    if (marker === 0xda || marker === 0xd9) break;
    if (marker === 0xe1) turned ||= isTurned(await source.readAt(at + 4, EXIF_BYTES));
    at += 2 + Math.max(2, head.readUInt16BE(2));
  }
  throw new UnreadableMediaError('no frame');
};

const ORIENTATION = 0x0112;

/** Orientations 5 to 8 swap the sides (EXIF 2.3, 4.6.4). */
const isTurned = (segment: Buffer): boolean => {
  if (segment.toString('latin1', 0, 6) !== 'Exif\0\0') return false;
  const tiff = segment.subarray(6);
  const order = tiff.toString('latin1', 0, 2);
  if (tiff.length < 8 || (order !== 'II' && order !== 'MM')) return false;
  const short = (at: number): number => (order === 'II' ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const directory = order === 'II' ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (directory + 2 > tiff.length) return false;
  const entries = short(directory);
  for (let n = 0; n < entries; n++) {
    const entry = directory + 2 + 12 * n;
    if (entry + 12 > tiff.length) return false;
    if (short(entry) === ORIENTATION) return short(entry + 8) >= 5 && short(entry + 8) <= 8;
  }
  return false;
};

const readers: Partial<Record<Signature, (source: ByteSource) => Promise<MediaFacts>>> = {
  png: readPng,
  gif: readGif,
  webp: readWebp,
  jpeg: readJpeg,
  mp4: readMp4,
};
