import type { DiskFile } from './disk-file.ts';
import { orUnavailable } from './file-errors.ts';
import { createGathering } from './gathering.ts';
import type { Sum } from './sha256.ts';
import { SLAB_BYTES, type Slabs } from './slabs.ts';

/** A file that is written once, from its beginning to its end. */
export interface SpoolFile {
  readonly path: string;
  /** That were given to it. */
  readonly bytes: number;
  /**
   * Takes bytes behind those that are there. They are copied: their memory is the caller's again at once.
   * @returns undefined, or what is to be waited for before the next call
   */
  write(chunk: Buffer): Promise<void> | undefined;
  readAt(position: number, length: number): Promise<Buffer>;
  /** @returns the SHA-256 of all that was given to it, hex; nothing is written behind that */
  digest(): Promise<string>;
  /** Returns when whoever reads the file finds all that was given to it. */
  flush(): Promise<void>;
  /** Returns when the bytes are on the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

const HEAD_BYTES = 4_096;

interface Means {
  readonly file: DiskFile;
  readonly slabs: Slabs;
  readonly sum: Sum;
  /** Slabs that are gathered before they are written, 1 and more; another number each time. */
  readonly slabsOfPiece: () => number;
  /** Told once. */
  readonly onClose: () => void;
}

/** The first bytes: most of what is asked of a file is how it begins. */
const createHead = () => {
  let head: Buffer = Buffer.alloc(0);
  return {
    add: (chunk: Buffer): void => {
      if (head.length < HEAD_BYTES) {
        head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)]);
      }
    },
    /** @returns undefined where they are not all of what is asked for */
    at: (from: number, length: number): Buffer | undefined =>
      from + length <= head.length ? head.subarray(from, from + length) : undefined,
  };
};

/** @throws the error of the first that failed, when both are over */
const allDone = async (...works: readonly Promise<unknown>[]): Promise<void> => {
  await Promise.allSettled(works);
  await Promise.all(works);
};

/** Gathers what comes in slabs, and writes a piece of them while the next one is gathered. */
export const createSpoolFile = (
  path: string,
  { file, slabs, sum, slabsOfPiece, onClose }: Means,
): SpoolFile => {
  const gathering = createGathering(slabs);
  /** Of what is gathered in the file. */
  let position = 0;
  let isFlushed = true;
  let writing: Promise<void> = Promise.resolve();
  const head = createHead();

  const writePiece = async (piece: readonly Buffer[], at: number): Promise<void> => {
    try {
      // No longer than either reads them are the slabs anybody's.
      await allDone(sum.add(piece), file.write(piece, at));
    } finally {
      for (const slab of piece) slabs.give(slab);
    }
  };

  /** Begins to write the slabs that are full, as soon as those before them are written. */
  const writeFull = async (): Promise<void> => {
    await writing;
    const piece = gathering.takeFull();
    const at = position;
    position += piece.length * SLAB_BYTES;
    writing = orUnavailable(() => writePiece(piece, at));
    // Waited for before the next one; a failure until then is nobody's.
    writing.catch(() => undefined);
  };

  const flush = async (): Promise<void> => {
    await writing;
    if (isFlushed) return;
    await orUnavailable(async () => {
      await file.write(gathering.inBlocks(), position);
      await file.truncate(position + gathering.bytes);
    });
    // They stay gathered: what comes yet goes into the last slab.
    isFlushed = true;
  };

  return {
    path,
    get bytes() {
      return position + gathering.bytes;
    },
    write: (chunk) => {
      head.add(chunk);
      gathering.add(chunk);
      isFlushed = false;
      return gathering.bytes < slabsOfPiece() * SLAB_BYTES ? undefined : writeFull();
    },
    readAt: async (from, length) => {
      const known = head.at(from, length);
      if (known !== undefined) return known;
      await flush();
      return orUnavailable(() => file.readAt(from, length));
    },
    digest: async () => {
      await writing;
      const digested = orUnavailable(() => sum.digest(gathering.all()));
      await allDone(flush(), digested);
      return digested;
    },
    flush,
    sync: async () => {
      await flush();
      await orUnavailable(() => file.sync());
    },
    close: async () => {
      onClose();
      await writing.catch(() => undefined);
      gathering.end();
      sum.forget();
      await orUnavailable(() => file.close());
    },
  };
};
