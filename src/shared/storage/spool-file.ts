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

interface Piece {
  readonly slabs: readonly Buffer[];
  /** In the file. */
  readonly position: number;
}

/** Writes one piece after the other. */
const createWriter = ({ file, slabs, sum }: Pick<Means, 'file' | 'slabs' | 'sum'>) => {
  let writing: Promise<void> = Promise.resolve();
  const write = async (piece: Piece): Promise<void> => {
    try {
      // No longer than either reads them are the slabs anybody's.
      await allDone(sum.add(piece.slabs), file.write(piece.slabs, piece.position));
    } finally {
      for (const slab of piece.slabs) slabs.give(slab);
    }
  };
  return {
    /** Begins with what `take` gives as soon as what was begun before is written, and returns then. */
    next: async (take: () => Piece): Promise<void> => {
      await writing;
      writing = orUnavailable(() => write(take()));
      // Waited for before the next one; a failure until then is nobody's.
      writing.catch(() => undefined);
    },
    /** Returns when all that was begun is written; @throws what failed */
    written: (): Promise<void> => writing,
    /** Returns when nothing is being written any more: who was still to be waited for may have begun another piece. */
    over: async (): Promise<void> => {
      for (let seen: Promise<void> | undefined; seen !== writing;) {
        seen = writing;
        await seen.catch(() => undefined);
      }
    },
  };
};

/** Gathers what comes in slabs, and writes a piece of them while the next one is gathered. */
export const createSpoolFile = (path: string, means: Means): SpoolFile => {
  const { file, slabs, sum, slabsOfPiece, onClose } = means;
  const gathering = createGathering(slabs);
  const writer = createWriter(means);
  const head = createHead();
  /** Of what is gathered in the file. */
  let position = 0;
  let isFlushed = true;

  const takeFull = (): Piece => {
    const piece = { slabs: gathering.takeFull(), position };
    position += piece.slabs.length * SLAB_BYTES;
    return piece;
  };

  const flush = async (): Promise<void> => {
    await writer.written();
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
      return gathering.bytes < slabsOfPiece() * SLAB_BYTES ? undefined : writer.next(takeFull);
    },
    readAt: async (from, length) => {
      const known = head.at(from, length);
      if (known !== undefined) return known;
      await flush();
      return orUnavailable(() => file.readAt(from, length));
    },
    digest: async () => {
      await writer.written();
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
      await writer.over();
      gathering.end();
      sum.forget();
      await orUnavailable(() => file.close());
    },
  };
};
