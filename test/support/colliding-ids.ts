import { fingerprintsOf } from '../../domain/conversions/fingerprint.ts';

/**
 * Event ids whose fingerprints differ only in their last two words. They come from the reversed hash: MurmurHash3 is
 * invertible for a known source and event type.
 */
export const idsMeeting = (sourceId: string, eventType: string, count: number): string[] => {
  const seed = seedOf(sourceId, eventType);
  const ids: string[] = [];
  for (let n = 0; ids.length < count; n += 1) {
    const id = textOf(Uint32Array.of(0xabcd1234, 0x00c0ffee, n, Math.imul(n, 0x9e3779b1)), seed);
    if (id.isWellFormed() && !id.includes('\0')) ids.push(id);
  }
  const words = new Uint32Array(4);
  fingerprintsOf(sourceId)(eventType, ids[0] as string, words, 0);
  if (words[0] !== 0xabcd1234 || words[1] !== 0x00c0ffee) throw new Error('the hash has changed');
  return ids;
};

const inverse = (odd: number): number => {
  let x = odd;
  for (let n = 0; n < 5; n += 1) x = Math.imul(x, 2 - Math.imul(odd, x));
  return x;
};
const rotateRight = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits));
const shiftBack = (word: number, bits: number): number => {
  let x = word;
  for (let n = 0; n < 3; n += 1) x = word ^ (x >>> bits);
  return x;
};
const unmixLast = (word: number): number => {
  let h = shiftBack(word, 16);
  h = shiftBack(Math.imul(h, inverse(0xc2b2ae35)), 13);
  return shiftBack(Math.imul(h, inverse(0x85ebca6b)), 16);
};
const sumsBack = (h: Int32Array): void => {
  for (const at of [1, 2, 3]) h[at] = (h[at] as number) - (h[0] as number);
  h[0] = (h[0] as number) - (h[1] as number) - (h[2] as number) - (h[3] as number);
};

/** The eight code units with this hash. */
const textOf = (hash: Uint32Array, seed: Uint32Array): string => {
  const h = beforeEnd(hash, 8);
  const before = Int32Array.from(seed);
  const steps = [
    [19, 0x561ccd1b, 0x239b961b, 15, 0xab0e9789],
    [17, 0x0bcaa747, 0xab0e9789, 16, 0x38b34ae5],
    [15, 0x96cd1c35, 0x38b34ae5, 17, 0xa1e38b93],
    [13, 0x32ac3b17, 0xa1e38b93, 18, 0x239b961b],
  ] as const;
  const units: number[] = [];
  for (const [at, [turn, add, first, bits, second]] of steps.entries()) {
    const next = at === 3 ? (h[0] as number) : (before[at + 1] as number);
    const mixed = Math.imul((h[at] as number) - add, inverse(5)) - next;
    const k = rotateRight(mixed | 0, turn) ^ (before[at] as number);
    const word = Math.imul(rotateRight(Math.imul(k, inverse(second)), bits), inverse(first));
    units.push(word & 0xffff, word >>> 16);
  }
  return String.fromCharCode(...units);
};

const seedOf = (sourceId: string, eventType: string): Uint32Array => {
  const ofNothing = new Uint32Array(4);
  fingerprintsOf(sourceId)(eventType, '', ofNothing, 0);
  return Uint32Array.from(beforeEnd(ofNothing, 0));
};

/** The words before the final mixing. */
const beforeEnd = (hash: Uint32Array, length: number): Int32Array => {
  const h = Int32Array.from(hash);
  sumsBack(h);
  for (let at = 0; at < 4; at += 1) h[at] = unmixLast(h[at] as number);
  sumsBack(h);
  for (let at = 0; at < 4; at += 1) h[at] = (h[at] as number) ^ length;
  return h;
};
