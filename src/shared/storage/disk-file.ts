import { constants, open, type FileHandle } from 'node:fs/promises';

/** A new file, written from its beginning on. */
export interface DiskFile {
  /**
   * Writes all of it, at that position; nothing else is asked of the file meanwhile.
   * @param chunks whole blocks (`BLOCK_BYTES`) that begin at a page of memory, and at a block of the file. Anything else is
   *   written as well, but from then on through the system's cache
   */
  write(chunks: readonly Buffer[], position: number): Promise<void>;
  /** Up to `length` of the bytes at that position, fewer at the end. */
  readAt(position: number, length: number): Promise<Buffer>;
  truncate(bytes: number): Promise<void>;
  /** Returns when its bytes are on the disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** No disk that is known here has larger ones. */
export const BLOCK_BYTES = 4_096;

// Not every system has it.
const { O_CREAT, O_EXCL, O_WRONLY, O_DIRECT = 0 } = constants as Partial<typeof constants> & typeof constants;

/** How a file system says that it does not write past its cache, or not what it was given. */
const notDirect = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP']);

/**
 * @param isDirect whether bytes go to the disk past the system's cache, where the file system can do that: nothing is
 *   copied once more, and nothing is left to be waited for in the end. For what is to be on the disk soon.
 */
export const createDiskFile = async (path: string, isDirect: boolean): Promise<DiskFile> => {
  const openToWrite = (more: number): Promise<FileHandle> => open(path, O_WRONLY | more, 0o600);
  let isPastCache = isDirect;
  /** @throws the error again where it says something else */
  const toCache = (error: NodeJS.ErrnoException): void => {
    if (!isPastCache || !notDirect.has(error.code ?? '')) throw error;
    isPastCache = false;
  };

  let writer = await openToWrite(O_CREAT | O_EXCL | (isDirect ? O_DIRECT : 0)).catch(
    (error: NodeJS.ErrnoException) => {
      toCache(error);
      // It was made all the same.
      return openToWrite(O_CREAT);
    },
  );
  let reader: Promise<FileHandle> | undefined;

  const writeSome = async (chunks: readonly Buffer[], position: number): Promise<number> => {
    try {
      return (await writer.writev(chunks, position)).bytesWritten;
    } catch (error) {
      toCache(error as NodeJS.ErrnoException);
      await writer.close();
      writer = await openToWrite(0);
      return 0;
    }
  };
  return {
    write: async (chunks, position) => {
      let at = position;
      for (let rest = chunks; rest.length > 0;) {
        const written = await writeSome(rest, at);
        at += written;
        rest = without(rest, written);
      }
    },
    readAt: async (position, length) => {
      // Through the cache: whoever reads some bytes here and there reads the next ones soon.
      reader ??= open(path, 'r');
      const { buffer, bytesRead } = await (await reader).read(Buffer.alloc(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    },
    truncate: (bytes) => writer.truncate(bytes),
    sync: () => writer.sync(),
    close: async () => {
      const read = reader?.then((file) => file.close()).catch(() => undefined);
      await writer.close();
      await read;
    },
  };
};

/** What is left of chunks when so many bytes of them are written: a disk that is nearly full takes a part. */
const without = (chunks: readonly Buffer[], written: number): readonly Buffer[] => {
  let left = written;
  return chunks.flatMap((chunk) => {
    const skipped = Math.min(left, chunk.length);
    left -= skipped;
    return skipped === chunk.length ? [] : [chunk.subarray(skipped)];
  });
};
