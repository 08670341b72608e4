import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { inspectBytes } from '../../command/assets/inspect-bytes.ts';
import { byteRangeOf } from '../../query/assets/serve-route.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { ByteSource } from '../../shared/storage/object-store.ts';
import { mediaTypeOf, servedTypeOf } from '../../shared/storage/media-types.ts';
import { parseUploadLimits } from '../../command/assets/upload-limits.ts';
import { amount } from '../support/amount.ts';
import { box, gif, jpeg, mp4, png, webpExtended, webpLossless, webpLossy } from '../support/sample-media.ts';

/** Counts the bytes that are read. */
const sourceOf = (bytes: Buffer): ByteSource & { read: number } => {
  const source = {
    bytes: bytes.length,
    read: 0,
    readAt: async (position: number, length: number) => {
      const part = bytes.subarray(position, position + length);
      source.read += part.length;
      return Buffer.from(part);
    },
  };
  return source;
};
const webpTiny = Buffer.from('UklGRhIAAABXRUJQVlA4TAYAAAAvQWxvAGs=', 'base64');
const inspect = (mimeType: string, bytes: Buffer) => inspectBytes(mimeType, sourceOf(bytes));

describe('the inspection of bytes', () => {
  it.each([
    ['image/png', png(30_000, 40_000), { width: 30_000, height: 40_000 }],
    ['image/gif', gif(728, 90), { width: 728, height: 90 }],
    ['image/webp', webpExtended(16_384, 3), { width: 16_384, height: 3 }],
    ['image/webp', webpLossless(300, 16_384), { width: 300, height: 16_384 }],
    ['image/webp', webpLossy(320, 50), { width: 320, height: 50 }],
    ['image/jpeg', jpeg(640, 480), { width: 640, height: 480 }],
    ['image/jpeg', jpeg(640, 480, 6), { width: 480, height: 640 }],
    ['image/jpeg', jpeg(640, 480, 3, 60_000), { width: 640, height: 480 }],
    // The package expects the size elsewhere.
    ['image/jpeg', jpeg(5, 5).subarray(0, 30), {}],
    ['video/mp4', mp4(), { width: 640, height: 360, durationMs: 5_005 }],
    [
      'video/mp4',
      mp4({ isLong: true, timescale: 90_000, duration: 90_045 }),
      { width: 640, height: 360, durationMs: 1_001 },
    ],
    ['video/mp4', mp4({ isTurned: true }), { width: 360, height: 640, durationMs: 5_005 }],
    ['video/mp4', mp4({ duration: 0xffff_ffff }), { width: 640, height: 360 }],
    ['video/mp4', mp4({ timescale: 0 }), { width: 640, height: 360 }],
    [
      'video/mp4',
      Buffer.concat([mp4(), ...Array.from({ length: 5_000 }, () => box('moof'))]),
      { width: 640, height: 360, durationMs: 5_005 },
    ],
    ['audio/mp4', mp4({ width: 0 }), { durationMs: 5_005 }],
    ['text/plain', Buffer.from('grüezi'), { textContent: 'grüezi' }],
    ['text/plain', Buffer.from([0xe4, 0xf6]), {}],
    ['text/plain', Buffer.from('a\0b'), {}],
    ['text/html', Buffer.from('<p>'), {}],
    ['application/octet-stream', png(1, 1), { width: 1, height: 1 }],
    ['image/heic', box('ftyp', Buffer.from('heic\0\0\0\0mif1heic')), {}],
    // The smallest possible file: 26 bytes.
    ['image/webp', webpTiny, { width: 11_330, height: 446 }],
  ])('%s %#', async (mimeType, bytes, facts) => {
    expect(await inspect(mimeType, bytes)).toEqual(facts);
  });

  it.each([
    ['image/png', Buffer.from('<html><script>')],
    ['image/png', gif(1, 1)],
    ['image/gif', Buffer.from('GIF')],
    ['text/html', png(1, 1)],
    ['image/svg+xml', jpeg(1, 1)],
    ['text/plain', Buffer.concat([Buffer.from('MZ'), Buffer.alloc(20)])],
    ['application/pdf', Buffer.from('PK\x03\x04')],
    ['video/mp4', Buffer.from('not a film at all')],
    ['image/png', png(0, 5)],
    ['image/png', png(5, 5).subarray(0, 20)],
    ['image/webp', webpLossy(5, 5).subarray(0, -3)],
    ['video/mp4', mp4().subarray(0, -1)],
    ['video/mp4', box('ftyp', Buffer.alloc(8))],
    ['video/mp4', Buffer.concat([box('ftyp', Buffer.alloc(8)), box('moov')])],
    [
      'video/mp4',
      Buffer.concat([box('ftyp', Buffer.alloc(8)), ...Array.from({ length: 5_000 }, () => box('free'))]),
    ],
  ])('is not %s %#', async (mimeType, bytes) => {
    await expect(inspect(mimeType, bytes)).rejects.toMatchObject({ status: 415 });
  });

  it('reads a few bytes of a large video', async () => {
    const source = sourceOf(mp4({ mediaBytes: 5_000_000 }));
    await inspectBytes('video/mp4', source);
    expect(source.read).toBeLessThan(6_000);
  });

  it('any bytes are accepted or refused', async () => {
    const real = fc.constantFrom(
      png(5, 5),
      gif(5, 5),
      jpeg(5, 5, 6),
      webpExtended(5, 5),
      webpLossless(5, 5),
      webpLossy(5, 5),
      mp4(),
      mp4({ isLong: true }),
    );
    const changes = fc.array(fc.tuple(fc.nat(2_000), fc.nat(255)), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(real, changes, fc.nat(2_000), async (bytes, changed, cut) => {
        const broken = Buffer.from(bytes.subarray(0, Math.max(1, bytes.length - (cut % bytes.length))));
        for (const [position, value] of changed) broken[position % broken.length] = value;
        const facts = await inspect('application/octet-stream', broken).catch((error: unknown) => {
          if (error instanceof ApiError && error.status === 415) return {};
          throw error;
        });
        return Object.values(facts).every((value) => Number.isSafeInteger(value) && Number(value) >= 0);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('hostile bytes', () => {
  const repeated = (bytes: Buffer, size = 400_000): Buffer => Buffer.alloc(size, bytes);
  const u32 = (value: number): Buffer => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value]);
  const magics = [
    '89504e470d0a1a0a',
    'ffd8ff',
    '474946383961',
    '52494646ffffffff57454250565038',
    '0000001866747970',
    '49492a0008000000',
    '4d4d002a00000008',
    '504b0304',
    '1f8b08',
    '1a45dfa3',
    '4f676753',
    '494433040000',
    'fffb90',
    '3026b2758e66cf11a6d900aa0062ce6c',
    '424d',
    '00000100',
    '25504446',
    '464c5601',
    '0000000c6a502020',
    'efbbbf',
  ].map((hex) => Buffer.from(hex, 'hex'));
  const zipEntry = Buffer.concat([
    Buffer.from('504b03040a00000000000000000000000000000000000000000001000000', 'hex'),
    Buffer.from('a'),
  ]);

  it.each([
    ['a gzip of zeros', gzipSync(Buffer.alloc(4_000_000))],
    [
      'a zip of zeros',
      Buffer.concat([
        Buffer.from('504b0304140000000800000000000000000000000000', 'hex'),
        deflateRawSync(Buffer.alloc(4_000_000)),
      ]),
    ],
    ['a zip of many entries', repeated(zipEntry)],
    [
      'a PNG of many chunks',
      Buffer.concat([png(5, 5), repeated(Buffer.concat([u32(0), Buffer.from('tEXt'), u32(0)]))]),
    ],
    [
      'a PNG with a chunk that ends nowhere',
      Buffer.concat([png(5, 5), u32(0xffff_ffff), Buffer.from('tEXt')]),
    ],
    [
      'a JPEG of empty segments',
      Buffer.concat([Buffer.from('ffd8', 'hex'), repeated(Buffer.from('ffe00002', 'hex'))]),
    ],
    ['a JPEG of EXIF', Buffer.concat([Buffer.from('ffd8', 'hex'), repeated(jpeg(5, 5).subarray(2, 40))])],
    ['a JPEG of filling', Buffer.concat([Buffer.from('ffd8', 'hex'), repeated(Buffer.from('ff', 'hex'))])],
    [
      'a JPEG of one long EXIF',
      Buffer.concat([
        Buffer.from('ffd8ffe1fff8457869660000', 'hex'),
        Buffer.from('4d4d002a00000008ffff', 'hex'),
        Buffer.alloc(65_000),
      ]),
    ],
    ['a film of empty boxes', Buffer.concat([box('ftyp', Buffer.from('isom')), repeated(box('free'))])],
    [
      'a film of boxes without a size',
      Buffer.concat([box('ftyp', Buffer.from('isom')), repeated(Buffer.from('00000000', 'hex'))]),
    ],
  ])('%s', async (_, bytes) => {
    const source = sourceOf(bytes);
    await inspectBytes('application/octet-stream', source);
    expect(source.read).toBeLessThan(150_000);
  });

  it('after any magic number are accepted or refused within limits', async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(fc.constantFrom(0, 1, 8, 0x40, 0x7f, 0xff), { maxLength: 300 }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...magics),
        bytes,
        fc.integer({ min: 1, max: 2_000 }),
        async (magic, tail, times) => {
          const source = sourceOf(
            Buffer.concat([magic, ...Array.from({ length: times }, () => Buffer.from(tail))]),
          );
          await inspectBytes('application/octet-stream', source);
          expect(source.read).toBeLessThan(150_000);
        },
      ),
      { numRuns: amount(500, 20_000) },
    );
  });
});

/** @param bytes size of the tag, such as a cover picture */
const id3 = (bytes: number): Buffer =>
  Buffer.concat([
    Buffer.from('ID3\x04\0\0'),
    Buffer.from([0, (bytes >> 14) & 127, (bytes >> 7) & 127, bytes & 127]),
    Buffer.alloc(bytes),
  ]);

describe('media types', () => {
  it('follow from file names; unknown files are octet streams', () => {
    for (const name of ['image/png', 'image/svg+xml', 'text/html', 'video/mp4']) {
      expect(servedTypeOf(`ab-1.${mediaTypeOf(name).extension}`).name).toBe(name);
    }
    expect(servedTypeOf('ab-1.png').isPassive).toBe(true);
    for (const name of ['ab-1.html', 'ab-1.svg', 'ab-1.bin', 'ab-1', 'ab-1.pdf'])
      expect(servedTypeOf(name).isPassive).toBe(false);
    expect(servedTypeOf('ab-1.constructor').name).toBe('application/octet-stream');
    expect(mediaTypeOf('constructor/x').kind).toBe('other');
  });
  it.each([
    'BMW;3',
    'ID3 tags explained',
    'MZ',
    '<html>',
    '{}',
    '\ufeffa',
    '<?xml version="1.0"?>',
    'GIFs',
    'Zürich',
  ])('of text files may begin with %j', async (text) => {
    for (const mimeType of ['text/csv', 'application/xml', 'image/svg+xml'])
      expect(await inspect(mimeType, Buffer.from(text))).toEqual({});
    await expect(inspect('image/bmp', Buffer.from(`x${text}`))).rejects.toMatchObject({ status: 415 });
  });
  it.each([
    ['image/bmp', Buffer.from('424d460000000000000036000000280000000200000002000000', 'hex')],
    ['image/x-icon', Buffer.from('00000100010010100000010020006804', 'hex')],
    ['image/tiff', Buffer.from('49492a00080000000000', 'hex')],
    // As most programs write it: the directory follows the pixels.
    ['image/tiff', Buffer.concat([Buffer.from('49492a00a0860100', 'hex'), Buffer.alloc(100_000)])],
    ['image/tiff', Buffer.concat([Buffer.from('4d4d002a000186a0', 'hex'), Buffer.alloc(100_000)])],
    ['image/avif', box('ftyp', Buffer.from('avif\0\0\0\0avifmif1'))],
    ['video/webm', Buffer.from('1a45dfa3874282847765626d', 'hex')],
    ['audio/mpeg', Buffer.concat([id3(2_038), Buffer.from('fffb9064', 'hex'), Buffer.alloc(500)])],
    ['audio/mpeg', id3(500_000)],
    // Padding between the tag and the first frame.
    ['audio/mpeg', Buffer.concat([id3(2_038), Buffer.alloc(64), Buffer.from('fffb9064', 'hex')])],
    ['audio/mpeg', Buffer.concat([Buffer.from('fffb9064', 'hex'), Buffer.alloc(500)])],
    ['audio/aac', Buffer.concat([Buffer.from('fff15080', 'hex'), Buffer.alloc(500)])],
    ['audio/wav', Buffer.from('RIFF\x24\0\0\0WAVEfmt \x10\0\0\0')],
    [
      'audio/ogg',
      Buffer.concat([Buffer.from('OggS\0\x02'), Buffer.alloc(22), Buffer.from('\x01\x1eOpusHead')]),
    ],
    ['audio/flac', Buffer.from('fLaC\0\0\0\x22')],
    ['application/pdf', Buffer.from('%PDF-1.7\n')],
    [
      'application/zip',
      Buffer.concat([
        Buffer.from('504b03041400000008000000000000000000ffffff00ffffff00', 'hex'),
        Buffer.alloc(5_000),
      ]),
    ],
    ['application/zip', Buffer.from('504b0506000000000000000000000000000000000000', 'hex')],
  ])('%s %#, and no picture or text', async (mimeType, bytes) => {
    expect(await inspect(mimeType, bytes)).toEqual({});
    for (const other of ['image/gif', 'text/html'].filter(() => mimeType !== 'application/pdf'))
      await expect(inspect(other, bytes)).rejects.toMatchObject({ status: 415 });
  });

  it('accept an office document as an archive, not as text', async () => {
    const part = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
    const content = `<Types ContentType="${part}"/>`;
    const header = Buffer.alloc(30);
    header.write('PK\x03\x04\x14', 'latin1');
    header.writeUInt32LE(content.length, 18);
    header.writeUInt32LE(content.length, 22);
    header.writeUInt16LE('[Content_Types].xml'.length, 26);
    const document = Buffer.concat([header, Buffer.from(`[Content_Types].xml${content}`)]);
    expect(await inspect('application/zip', document)).toEqual({});
    for (const mimeType of ['text/html', 'image/svg+xml', 'application/xml'])
      await expect(inspect(mimeType, document)).rejects.toMatchObject({ status: 415 });
  });

  it.each([
    ['help file', Buffer.from('ITSF\x03\0\0\0')],
    ['cabinet', Buffer.from('MSCF\0\0\0\0')],
    ['packet capture', Buffer.from('d4c3b2a1020004000000', 'hex')],
  ])('do not accept a %s as application/zip', async (_, start) => {
    const bytes = Buffer.concat([start, Buffer.alloc(500)]);
    await expect(inspect('application/zip', bytes)).rejects.toMatchObject({ status: 415 });
  });
});

describe('limits of uploads', () => {
  it('are those of the most specific type', () => {
    const limit = parseUploadLimits('100,image/*=20,image/gif=3');
    expect(['image/gif', 'image/png', 'video/mp4'].map(limit)).toEqual([3, 20, 100]);
    expect(parseUploadLimits('image/*=20')('video/mp4')).toBe(104_857_600);
  });
  it.each(['', '0', 'x=1', '1,2', 'image/*', 'image/*=1,image/*=2', '1;2'])('cannot be set to %j', (text) =>
    expect(() => parseUploadLimits(text)).toThrow(RangeError),
  );
});

describe('a range', () => {
  it.each([
    ['bytes=-5', { first: 95, last: 99 }],
    ['bytes=-500', 'whole'],
    ['bytes=-0', 'none'],
    ['bytes=100-', 'none'],
    ['bytes=5-2', 'whole'],
    ['bytes=0-1,3-4', 'whole'],
    ['lines=0-1', 'whole'],
    ['bytes=x', 'whole'],
    [undefined, 'whole'],
  ])('%s of 100 bytes', (header, range) => expect(byteRangeOf(header, 100)).toEqual(range));

  it('lies within the bytes, or is not a range', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.nat(60), fc.nat(60), (bytes, from, to) => {
        const range = byteRangeOf(`bytes=${from}-${to}`, bytes + 1);
        if (typeof range === 'string') return range === (to < from ? 'whole' : 'none');
        return range.first === from && range.last === Math.min(to, bytes);
      }),
    );
  });
});
