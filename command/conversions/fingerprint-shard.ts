import { FINGERPRINT_WORDS } from '../../domain/conversions/fingerprint.ts';
import { tableHash } from './table-hash.ts';

/** Open addressing, 17 bytes per slot. Four zero words mark a free slot; no fingerprint is zero. */
export interface Shard {
  /** The number of high hash bits that all its fingerprints share. */
  readonly depth: number;
  readonly words: Uint32Array;
  /** Day of each slot, modulo 256. */
  readonly days: Uint8Array;
  /** Number of slots minus one; the number is a power of two. */
  readonly mask: number;
  count: number;
}

const BYTES_A_PLACE = 4 * FINGERPRINT_WORDS + 1;

export const shardBytes = ({ mask }: Shard): number => (mask + 1) * BYTES_A_PLACE;

export const createShard = (depth: number, places: number): Shard => ({
  depth,
  words: new Uint32Array(FINGERPRINT_WORDS * places),
  days: new Uint8Array(places),
  mask: places - 1,
  count: 0,
});

/** @returns the slot of a fingerprint, or `-1 - slot` of the free slot where it belongs */
export const findIn = ({ words, mask }: Shard, key: Uint32Array, at: number, spot: number): number => {
  const a = key[at] as number;
  const b = key[at + 1] as number;
  const c = key[at + 2] as number;
  const d = key[at + 3] as number;
  for (let place = spot & mask; ; place = (place + 1) & mask) {
    const slot = place * FINGERPRINT_WORDS;
    const first = words[slot] as number;
    const second = words[slot + 1] as number;
    const third = words[slot + 2] as number;
    const fourth = words[slot + 3] as number;
    if (first === a && second === b && third === c && fourth === d) return place;
    if ((first | second | third | fourth) === 0) return -1 - place;
  }
};

export const placeIn = (shard: Shard, place: number, key: Uint32Array, at: number, day: number): void => {
  const slot = place * FINGERPRINT_WORDS;
  for (let word = 0; word < FINGERPRINT_WORDS; word += 1) {
    shard.words[slot + word] = key[at + word] as number;
  }
  shard.days[place] = day;
  shard.count += 1;
};

export const copyShard = (
  from: Shard,
  isWanted: (place: number) => boolean,
  targetOf: (spot: number) => Shard,
): void => {
  for (let place = 0; place <= from.mask; place += 1) {
    const slot = place * FINGERPRINT_WORDS;
    const { words } = from;
    const first = words[slot] as number;
    const isFree =
      (first | (words[slot + 1] as number) | (words[slot + 2] as number) | (words[slot + 3] as number)) === 0;
    if (isFree || !isWanted(place)) continue;
    const spot = tableHash(words, slot);
    const target = targetOf(spot);
    placeIn(target, -1 - findIn(target, words, slot, spot), words, slot, from.days[place] as number);
  }
};
