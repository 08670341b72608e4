import { BLOCK_BYTES } from './disk-file.ts';
import { SLAB_BYTES, type Slabs } from './slabs.ts';

/** Bytes that are copied together in slabs. */
export interface Gathering {
  readonly bytes: number;
  add(chunk: Buffer): void;
  /** Slabs that are full; whoever takes them gives them back. */
  takeFull(): readonly Buffer[];
  /** What is there. */
  all(): readonly Buffer[];
  /** The same in whole blocks: zeros fill the last one. */
  inBlocks(): readonly Buffer[];
  /** Gives back the slabs. */
  end(): void;
}

export const createGathering = (slabs: Slabs): Gathering => {
  /** All full but the last one. */
  let gathered: Buffer[] = [];
  let bytes = 0;
  const firstBytes = (end: number): readonly Buffer[] =>
    gathered.map((slab, n) => slab.subarray(0, Math.min(SLAB_BYTES, end - n * SLAB_BYTES)));
  return {
    get bytes() {
      return bytes;
    },
    add: (chunk) => {
      for (let from = 0; from < chunk.length;) {
        const at = bytes % SLAB_BYTES;
        if (at === 0) gathered.push(slabs.take());
        const copied = Math.min(chunk.length - from, SLAB_BYTES - at);
        // `copy` goes word by word where threads share the memory, which takes several times as long.
        gathered.at(-1)?.fill(chunk.subarray(from, from + copied), at, at + copied);
        from += copied;
        bytes += copied;
      }
    },
    takeFull: () => {
      const full = gathered.splice(0, Math.floor(bytes / SLAB_BYTES));
      bytes -= full.length * SLAB_BYTES;
      return full;
    },
    all: () => firstBytes(bytes),
    inBlocks: () => {
      const whole = Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
      // What was in the slab before is nobody's business.
      const before = (gathered.length - 1) * SLAB_BYTES;
      gathered.at(-1)?.fill(0, bytes - before, whole - before);
      return firstBytes(whole);
    },
    end: () => {
      for (const slab of gathered) slabs.give(slab);
      gathered = [];
      bytes = 0;
    },
  };
};
