/** The kinds of bytes that begin with something of their own. */
export type Signature =
  | 'png'
  | 'jpeg'
  | 'gif'
  | 'webp'
  | 'avif'
  | 'bmp'
  | 'ico'
  | 'tiff'
  | 'mp4'
  | 'webm'
  | 'mp3'
  | 'wav'
  | 'ogg'
  | 'flac'
  | 'aac'
  | 'pdf'
  | 'zip'
  | 'gzip'
  | 'executable';

/** So many bytes tell. */
export const SIGNATURE_BYTES = 16;

const starts =
  (...bytes: readonly number[]) =>
  (head: Buffer): boolean =>
    bytes.every((byte, at) => head[at] === byte);
const holds =
  (at: number, text: string) =>
  (head: Buffer): boolean =>
    head.toString('latin1', at, at + text.length) === text;
const all =
  (...tests: readonly ((head: Buffer) => boolean)[]) =>
  (head: Buffer): boolean =>
    tests.every((test) => test(head));

/** MPEG audio without tags: a frame's sync word, layer III. */
const isMp3Frame = ([first = 0, second = 0]: Buffer): boolean => first === 0xff && (second & 0xe6) === 0xe2;
/** ADTS: the same sync word, layer 0. */
const isAdts = ([first = 0, second = 0]: Buffer): boolean => first === 0xff && (second & 0xf6) === 0xf0;

const signatures: readonly (readonly [Signature, (head: Buffer) => boolean])[] = [
  ['png', starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)],
  ['jpeg', starts(0xff, 0xd8, 0xff)],
  ['gif', holds(0, 'GIF87a')],
  ['gif', holds(0, 'GIF89a')],
  ['webp', all(holds(0, 'RIFF'), holds(8, 'WEBP'))],
  ['wav', all(holds(0, 'RIFF'), holds(8, 'WAVE'))],
  ['avif', holds(4, 'ftypavif')],
  ['avif', holds(4, 'ftypavis')],
  // Also QuickTime and MPEG-4 audio: one container.
  ['mp4', holds(4, 'ftyp')],
  ['webm', starts(0x1a, 0x45, 0xdf, 0xa3)],
  // Its version: 2.2 to 2.4.
  ['mp3', all(holds(0, 'ID3'), ([, , , version = 0]) => version >= 2 && version <= 4)],
  ['ogg', holds(0, 'OggS')],
  ['flac', holds(0, 'fLaC')],
  ['bmp', all(holds(0, 'BM'), (head) => head.subarray(6, 10).equals(Buffer.alloc(4)))],
  ['ico', starts(0, 0, 1, 0)],
  ['tiff', starts(0x49, 0x49, 0x2a, 0)],
  ['tiff', starts(0x4d, 0x4d, 0, 0x2a)],
  ['pdf', holds(0, '%PDF-')],
  ['zip', starts(0x50, 0x4b, 0x03, 0x04)],
  ['zip', starts(0x50, 0x4b, 0x05, 0x06)],
  ['gzip', starts(0x1f, 0x8b, 0x08)],
  ['executable', all(holds(0, 'MZ'), (head) => head.includes(0))],
  ['executable', starts(0x7f, 0x45, 0x4c, 0x46)],
  ['aac', isAdts],
  ['mp3', isMp3Frame],
];

/**
 * What bytes are, by how they begin; undefined when that says nothing, as of text.
 * @param head the first `SIGNATURE_BYTES`, or all there are
 */
export const signatureOf = (head: Buffer): Signature | undefined =>
  signatures.find(([, test]) => test(head))?.[0];
