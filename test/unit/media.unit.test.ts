import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inspectBytes } from '../../src/command/assets/inspect-bytes.ts';
import { byteRangeOf } from '../../src/query/assets/byte-range.ts';
import { ApiError } from '../../src/shared/http/errors.ts';
import type { ByteSource } from '../../src/shared/media/byte-source.ts';
import { mediaTypeOf, servedTypeOf } from '../../src/shared/media/media-types.ts';
import { signatureOf } from '../../src/shared/media/signature.ts';
import { parseUploadLimits } from '../../src/shared/upload-limits.ts';
import { box, gif, jpeg, mp4, png, webpExtended, webpLossless, webpLossy } from '../support/sample-media.ts';

/** Bytes, and how many of them were looked at. */
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

describe('what bytes say of themselves', () => {
  it.each([
    ['image/png', png(30_000, 40_000), { width: 30_000, height: 40_000 }],
    ['image/gif', gif(728, 90), { width: 728, height: 90 }],
    ['image/webp', webpExtended(16_384, 3), { width: 16_384, height: 3 }],
    ['image/webp', webpLossless(300, 16_384), { width: 300, height: 16_384 }],
    ['image/webp', webpLossy(320, 50), { width: 320, height: 50 }],
    ['image/jpeg', jpeg(640, 480), { width: 640, height: 480 }],
    ['image/jpeg', jpeg(640, 480, 6), { width: 480, height: 640 }],
    ['image/jpeg', jpeg(640, 480, 3, 60_000), { width: 640, height: 480 }],
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
    // The smallest there is: 26 bytes.
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
    ['image/jpeg', jpeg(5, 5).subarray(0, 30)],
    ['image/jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xd9])],
    ['image/webp', webpLossy(5, 5).subarray(0, -1)],
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

  it('takes a few bytes of a large film', async () => {
    const source = sourceOf(mp4({ mediaBytes: 5_000_000 }));
    await inspectBytes('video/mp4', source);
    expect(source.read).toBeLessThan(2_000);
  });

  it('is read, or refused, whatever the bytes are', async () => {
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

describe('media types', () => {
  it('are told by the names of files, and what is not known is a file to save', () => {
    for (const name of ['image/png', 'image/svg+xml', 'text/html', 'video/mp4']) {
      expect(servedTypeOf(`ab-1.${mediaTypeOf(name).extension}`).name).toBe(name);
    }
    expect(servedTypeOf('ab-1.png').isPassive).toBe(true);
    for (const name of ['ab-1.html', 'ab-1.svg', 'ab-1.bin', 'ab-1', 'ab-1.pdf'])
      expect(servedTypeOf(name).isPassive).toBe(false);
    expect(servedTypeOf('ab-1.constructor').name).toBe('application/octet-stream');
    expect(mediaTypeOf('constructor/x').kind).toBe('other');
  });
  it('that are text begin like nothing else', () => {
    for (const text of ['BMW', 'ID3 tags explained', 'MZ', '<html>', '{}', '\ufeffa', 'GIFs'])
      expect(signatureOf(Buffer.from(text))).toBeUndefined();
  });
});

describe('limits of uploads', () => {
  it('are those of the most exact type', () => {
    const limit = parseUploadLimits('100,image/*=20,image/gif=3');
    expect(['image/gif', 'image/png', 'video/mp4'].map(limit)).toEqual([3, 20, 100]);
    expect(parseUploadLimits('image/*=20')('video/mp4')).toBe(104_857_600);
  });
  it.each(['', '0', 'x=1', '1,2', 'image/*', 'image/*=1,image/*=2', '1;2'])('are not %j', (text) =>
    expect(() => parseUploadLimits(text)).toThrow(RangeError),
  );
});

describe('a range', () => {
  it('lies within what there is, or is none', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.nat(60), fc.nat(60), (bytes, from, to) => {
        const range = byteRangeOf(`bytes=${from}-${to}`, bytes + 1);
        if (typeof range === 'string') return range === (to < from ? 'whole' : 'none');
        return range.first === from && range.last === Math.min(to, bytes);
      }),
    );
  });
});
