import { FINGERPRINT_WORDS } from '../../domain/conversions/fingerprint.ts';
import { getRandomValues } from 'node:crypto';

const [KEY_0, KEY_1] = getRandomValues(new Uint32Array(2)) as unknown as readonly [number, number];
const LENGTH = (4 * FINGERPRINT_WORDS) << 24;

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/**
 * HalfSipHash-1-3 with a secret key. A client that chooses event ids could make thousands of fingerprints
 * collide in their own bits: five such calls blocked the process for three minutes.
 */
export const tableHash = (words: Uint32Array, at: number): number => {
  let v0 = KEY_0;
  let v1 = KEY_1;
  let v2 = 0x6c796765 ^ KEY_0;
  let v3 = 0x74656462 ^ KEY_1;
  for (let round = 0; round < FINGERPRINT_WORDS + 4; round += 1) {
    const word =
      round < FINGERPRINT_WORDS ? (words[at + round] as number) : round === FINGERPRINT_WORDS ? LENGTH : 0;
    if (round === FINGERPRINT_WORDS + 1) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = rotate(v1, 5) ^ v0;
    v0 = rotate(v0, 16);
    v2 = (v2 + v3) | 0;
    v3 = rotate(v3, 8) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = rotate(v3, 7) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = rotate(v1, 13) ^ v2;
    v2 = rotate(v2, 16);
    v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
};

export const tableHashes = (words: Uint32Array, count: number): Uint32Array => {
  const spots = new Uint32Array(count);
  for (let item = 0; item < count; item += 1) spots[item] = tableHash(words, FINGERPRINT_WORDS * item);
  return spots;
};
