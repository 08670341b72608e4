import { createCipheriv } from 'node:crypto';

// A puncturable pseudorandom function (Goldreich, Goldwasser, Micali): a tree of seeds with 16 children each.
// A place is a path of hexadecimal digits, and its key is the seed there. Puncturing a place replaces the
// seeds on its path by their siblings: every other key can still be derived.

export const SEED_BYTES = 32;
const CHILDREN = 16;

/** Undefined: punctured, or expanded into the node of the longer path. */
export type Node = readonly (Buffer | undefined)[];

/** Keyed by path; the root's path is empty. */
export type KeyTree = ReadonlyMap<string, Node>;

export const nodeOf = (bytes: Buffer): Node =>
  Array.from({ length: CHILDREN }, (_, n) => bytes.subarray(n * SEED_BYTES, (n + 1) * SEED_BYTES));

const ZEROS = Buffer.alloc(SEED_BYTES * CHILDREN);
const NONCE = Buffer.alloc(16);

export const childrenOf = (seed: Buffer): Node =>
  nodeOf(createCipheriv('aes-256-ctr', seed, NONCE).update(ZEROS));

const digitAt = (path: string, at: number): number => Number.parseInt(path[at] ?? '', 16);

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

/** The nodes to store instead of those with the same paths. */
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
