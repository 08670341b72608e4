/**
 * MurmurHash3 (x86, 128 bits) over UTF-16 code units, seeded by source and type. Equal fingerprints count as
 * equal events: among 10^9 ids of one source a collision has a probability of 10^-21. A client can choose ids
 * that collide, but loses only its own events. SHA-256 would take five to eight times as long. Fingerprints
 * are stored (`conversion_segments`), so they must never change: four little-endian words.
 */

export const FINGERPRINT_WORDS = 4;

/** Older events are refused without a look at the fingerprints. */
export const DAYS_KNOWN = 90;

const { imul } = Math;

const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

const mixLast = (word: number): number => {
  let h = imul(word ^ (word >>> 16), 0x85ebca6b);
  h = imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
};

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** Two UTF-16 code units, the first in the low half; zero behind the end. */
const wordAt = (text: string, unit: number): number => {
  const low = unit < text.length ? text.charCodeAt(unit) : 0;
  return unit + 1 < text.length ? low | (text.charCodeAt(unit + 1) << 16) : low;
};

/** Writes the hash of `text` to `out[at .. at + 3]`. @param seed four words, e.g. another hash */
const hashInto = (text: string, seed: Uint32Array, out: Uint32Array, at: number): void => {
  const { length } = text;
  let h1 = seed[0] as number;
  let h2 = seed[1] as number;
  let h3 = seed[2] as number;
  let h4 = seed[3] as number;
  for (let unit = 0; unit < length; unit += 8) {
    h1 ^= imul(rotate(imul(wordAt(text, unit), C1), 15), C2);
    h1 = (imul((rotate(h1, 19) + h2) | 0, 5) + 0x561ccd1b) | 0;
    h2 ^= imul(rotate(imul(wordAt(text, unit + 2), C2), 16), C3);
    h2 = (imul((rotate(h2, 17) + h3) | 0, 5) + 0x0bcaa747) | 0;
    h3 ^= imul(rotate(imul(wordAt(text, unit + 4), C3), 17), C4);
    h3 = (imul((rotate(h3, 15) + h4) | 0, 5) + 0x96cd1c35) | 0;
    h4 ^= imul(rotate(imul(wordAt(text, unit + 6), C4), 18), C1);
    h4 = (imul((rotate(h4, 13) + h1) | 0, 5) + 0x32ac3b17) | 0;
  }
  // Distinguishes a text from one that also has U+0000 at its end.
  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  h3 = (h3 + h1) | 0;
  h4 = (h4 + h1) | 0;
  h1 = mixLast(h1);
  h2 = mixLast(h2);
  h3 = mixLast(h3);
  h4 = mixLast(h4);
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = (h2 + h1) | 0;
  h3 = (h3 + h1) | 0;
  h4 = (h4 + h1) | 0;
  out[at] = h1;
  out[at + 1] = h2;
  out[at + 2] = h3;
  // Never all zeros: hash tables use that for a free slot.
  out[at + 3] = (h1 | h2 | h3 | h4) === 0 ? 1 : h4;
};

export type FingerprintInto = (eventType: string, eventId: string, out: Uint32Array, at: number) => void;

export const fingerprintsOf = (sourceId: string): FingerprintInto => {
  const source = new Uint32Array(FINGERPRINT_WORDS);
  hashInto(sourceId, source, source, 0);
  const seeds = new Map<string, Uint32Array>();
  const addSeed = (eventType: string): Uint32Array => {
    const seed = new Uint32Array(FINGERPRINT_WORDS);
    hashInto(eventType, source, seed, 0);
    seeds.set(eventType, seed);
    return seed;
  };
  let lastType: string | undefined;
  let lastSeed: Uint32Array = source;
  const seedOf = (eventType: string): Uint32Array => {
    if (eventType !== lastType) {
      lastType = eventType;
      lastSeed = seeds.get(eventType) ?? addSeed(eventType);
    }
    return lastSeed;
  };
  return (eventType, eventId, out, at) => hashInto(eventId, seedOf(eventType), out, at);
};

/** If a stream's set contains it, the command has written to the stream. @param commandId a UUID */
export const commandInto = (commandId: string, out: Uint32Array, at: number): void => {
  const digits = commandId.replaceAll('-', '');
  for (let word = 0; word < FINGERPRINT_WORDS; word += 1) {
    const bytes = Number.parseInt(digits.slice(8 * word, 8 * word + 8), 16);
    // Little-endian, as the words are stored.
    const swapped = (bytes << 24) | ((bytes & 0xff00) << 8) | ((bytes >>> 8) & 0xff00) | (bytes >>> 24);
    out[at + word] = swapped;
  }
};
