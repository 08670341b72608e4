/** The smallest files with the metadata that the service reads. Real files begin the same way. */

const u16be = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
const u16le = (value: number): Buffer => Buffer.from([value & 255, value >> 8]);
const u24le = (value: number): Buffer => Buffer.from([value & 255, (value >> 8) & 255, value >> 16]);
const u32be = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const u32le = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const text = (value: string): Buffer => Buffer.from(value, 'latin1');

/** @param padding bytes after the image, like pixels */
export const png = (width: number, height: number, padding = 0): Buffer =>
  Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    u32be(13),
    text('IHDR'),
    u32be(width),
    u32be(height),
    Buffer.alloc(9 + padding),
  ]);

export const gif = (width: number, height: number): Buffer =>
  Buffer.concat([text('GIF89a'), u16le(width), u16le(height), Buffer.from([0, 0, 0, 0x3b])]);

const riff = (chunk: Buffer): Buffer =>
  Buffer.concat([text('RIFF'), u32le(chunk.length + 4), text('WEBP'), chunk]);

export const webpExtended = (width: number, height: number): Buffer =>
  riff(Buffer.concat([text('VP8X'), u32le(10), Buffer.alloc(4), u24le(width - 1), u24le(height - 1)]));

export const webpLossless = (width: number, height: number): Buffer =>
  riff(
    Buffer.concat([
      text('VP8L'),
      u32le(10),
      Buffer.from([0x2f]),
      u32le((width - 1) | ((height - 1) << 14)),
      Buffer.alloc(5),
    ]),
  );

export const webpLossy = (width: number, height: number): Buffer =>
  riff(
    Buffer.concat([
      text('VP8 '),
      u32le(10),
      Buffer.from([0, 0, 0, 0x9d, 0x01, 0x2a]),
      u16le(width),
      u16le(height),
      Buffer.alloc(2),
    ]),
  );

const segment = (marker: number, content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0xff, marker]), u16be(content.length + 2), content]);

/** @param orientation in EXIF */
export const jpeg = (width: number, height: number, orientation = 1, comment = 0): Buffer =>
  Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(
      0xe1,
      Buffer.concat([
        text('Exif\0\0II'),
        u16le(42),
        u32le(8),
        u16le(1),
        u16le(0x0112),
        u16le(3),
        u32le(1),
        u16le(orientation),
        u16le(0),
        u32le(0),
      ]),
    ),
    segment(0xfe, Buffer.alloc(comment)),
    segment(0xc2, Buffer.concat([Buffer.from([8]), u16be(height), u16be(width), Buffer.from([0])])),
    Buffer.from([0xff, 0xd9]),
  ]);

export const box = (type: string, ...content: readonly Buffer[]): Buffer => {
  const inside = Buffer.concat(content);
  return Buffer.concat([u32be(inside.length + 8), text(type), inside]);
};

/** The same with a 64-bit size. */
const longBox = (type: string, ...content: readonly Buffer[]): Buffer => {
  const inside = Buffer.concat(content);
  return Buffer.concat([u32be(1), text(type), u32be(0), u32be(inside.length + 16), inside]);
};

export interface Mp4Options {
  readonly width?: number;
  readonly height?: number;
  readonly timescale?: number;
  /** In units of the timescale. */
  readonly duration?: number;
  /** The matrix rotates the picture by 90 degrees. */
  readonly isTurned?: boolean;
  readonly isLong?: boolean;
  readonly mediaBytes?: number;
}

/** The media data comes before its description, as an encoder writes a stream of unknown length. */
export const mp4 = (options: Mp4Options = {}): Buffer => {
  const { width = 640, height = 360, timescale = 1_000, duration = 5_005, mediaBytes = 100 } = options;
  const { isTurned = false, isLong = false } = options;
  const time = (value: number): Buffer => (isLong ? Buffer.concat([u32be(0), u32be(value)]) : u32be(value));
  const version = Buffer.from([isLong ? 1 : 0, 0, 0, 0]);
  const one = u32be(65_536);
  const nil = u32be(0);
  const matrix = isTurned
    ? [nil, one, nil, one, nil, nil, nil, nil, u32be(0x4000_0000)]
    : [one, nil, nil, nil, one, nil, nil, nil, u32be(0x4000_0000)];
  const tkhd = (shownWidth: number, shownHeight: number): Buffer =>
    box(
      'tkhd',
      version,
      time(0),
      time(0),
      u32be(1),
      nil,
      time(duration),
      Buffer.alloc(16),
      ...matrix,
      u32be(shownWidth * 65_536),
      u32be(shownHeight * 65_536),
    );
  const track = (kind: string, shownWidth: number, shownHeight: number): Buffer =>
    box(
      'trak',
      tkhd(shownWidth, shownHeight),
      box('mdia', box('hdlr', Buffer.alloc(8), text(kind), Buffer.alloc(12))),
    );
  return Buffer.concat([
    box('ftyp', text('isom'), nil, text('isommp41')),
    longBox('mdat', Buffer.alloc(mediaBytes)),
    box(
      'moov',
      box('mvhd', version, time(0), time(0), u32be(timescale), time(duration), Buffer.alloc(80)),
      track('soun', 0, 0),
      track('vide', width, height),
    ),
  ]);
};
