import { createCipheriv } from 'node:crypto';

/**
 * A puncturable pseudorandom function (Goldreich, Goldwasser, Micali): a tree of seeds, each giving sixteen below it. A
 * place is a path of hexadecimal digits, and its key is the seed there: all keys follow from the few seeds at the top,
 * so nothing is stored when one is used. To puncture a place is to replace the seeds above it by those beside its path:
 * every other key can still be made, that one by nobody any more.
 */

export const SEED_BYTES = 32;
const CHILDREN = 16;

/** Seeds below a path; undefined: taken apart (then the longer path is in the tree), or punctured. */
export type Node = readonly (Buffer | undefined)[];

/** By path, the root's is empty. */
export type KeyTree = ReadonlyMap<string, Node>;

/** @param bytes random, `SEED_BYTES` times sixteen */
export const nodeOf = (bytes: Buffer): Node =>
  Array.from({ length: CHILDREN }, (_, n) => bytes.subarray(n * SEED_BYTES, (n + 1) * SEED_BYTES));

const ZEROS = Buffer.alloc(SEED_BYTES * CHILDREN);
const NONCE = Buffer.alloc(16);

/** AES-256 in counter mode, each seed the key of one stream. */
export const childrenOf = (seed: Buffer): Node =>
  nodeOf(createCipheriv('aes-256-ctr', seed, NONCE).update(ZEROS));

const digitAt = (path: string, at: number): number => Number.parseInt(path[at] ?? '', 16);

/** The seed at a path of the tree; undefined when the place, or one above it, is punctured. */
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
 * Takes the keys of places away, for good.
 * @returns the nodes that are to be stored instead of those of the same paths; none for what is punctured already
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
