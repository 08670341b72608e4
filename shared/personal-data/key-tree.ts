import { createCipheriv } from 'node:crypto';

/**
 * A puncturable pseudorandom function (Goldreich, Goldwasser, Micali): a tree of seeds with 16 children each. A place
 * is a path of hexadecimal digits, and its key is the seed there. All keys are derived from the stored top seeds, so using
 * a key stores nothing. Puncturing a place replaces the seeds on its path by their siblings: every other key can still
 * be derived, the key of this place cannot.
 */

export const SEED_BYTES = 32;
const CHILDREN = 16;

/** Child seeds of a path. Undefined: punctured, or expanded into the node of the longer path. */
export type Node = readonly (Buffer | undefined)[];

/** Keyed by path; the root's path is empty. */
export type KeyTree = ReadonlyMap<string, Node>;

/** @param bytes 16 seeds of `SEED_BYTES` random bytes */
export const nodeOf = (bytes: Buffer): Node =>
  Array.from({ length: CHILDREN }, (_, n) => bytes.subarray(n * SEED_BYTES, (n + 1) * SEED_BYTES));

const ZEROS = Buffer.alloc(SEED_BYTES * CHILDREN);
const NONCE = Buffer.alloc(16);

/** Derives the children with AES-256-CTR, keyed by the seed. */
export const childrenOf = (seed: Buffer): Node =>
  nodeOf(createCipheriv('aes-256-ctr', seed, NONCE).update(ZEROS));

const digitAt = (path: string, at: number): number => Number.parseInt(path[at] ?? '', 16);

/** @returns undefined if the place or one of its ancestors is punctured */
export const seedAt = (tree: KeyTree, path: string): Buffer | undefined => {
  for (let depth = path.length - 1; depth >= 0; depth -= 1) {
    const node = tree.get(path.slice(0, depth));
    if (node === undefined) continue;
    let seed = node[digitAt(path, depth)];
    for (let at = depth + 1; seed !== undefined && at < path.length; at += 1) {
      seed = childrenOf(seed)[digitAt(path, at)];
    }
    return seed;
  }
  return undefined;
};

/**
 * Deletes the keys of places irrecoverably.
 * @returns the nodes to store instead of those with the same paths; empty for places that are already punctured
 */
export const punctured = (tree: KeyTree, places: readonly string[]): ReadonlyMap<string, Node> => {
  const changed = new Map<string, Node>();
  const nodeAt = (path: string): Node | undefined => changed.get(path) ?? tree.get(path);
  for (const place of places) {
    for (let at = 0; at < place.length; at += 1) {
      const path = place.slice(0, at);
      const node = nodeAt(path);
      if (node === undefined) break;
      const digit = digitAt(place, at);
      const seed = node[digit];
      if (seed === undefined) continue;
      changed.set(
        path,
        node.map((other, n) => (n === digit ? undefined : other)),
      );
      if (at < place.length - 1) changed.set(place.slice(0, at + 1), childrenOf(seed));
    }
  }
  return changed;
};
