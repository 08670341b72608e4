import { createHash } from 'node:crypto';
import type { Asset } from '../../domain/assets/asset-resource.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { IncomingBytes } from '../../shared/http/incoming-bytes.ts';
import { releaseMemory } from '../../shared/release-memory.ts';
import type { Draft } from '../../shared/storage/object-store.ts';

/** What has come. */
export interface ReceivedBytes {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/**
 * Bytes of a piece, by how many uploads there are: large writes take a quarter less processor time for their bytes than
 * small ones do, and many uploads are not to take more memory than a few. Two pieces for each of a hundred are 25 MB.
 */
const PIECE_BYTES = { least: 128 * 1024, most: 1024 * 1024, ofAll: 16 * 1024 * 1024 };
/** Smaller chunks are copied together: a thousand of them would take many times the memory of their bytes. */
const CHUNK_BYTES_MIN = 8 * 1024;
const SLAB_BYTES = 128 * 1024;

/** Chunks in their order, the small ones copied together. */
const createGathering = () => {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let slab: Buffer = Buffer.alloc(0);
  let from = 0;
  let to = 0;
  const closeSlab = (): void => {
    if (to > from) chunks.push(slab.subarray(from, to));
    from = to;
  };
  const copy = (chunk: Buffer): void => {
    if (slab.length - to < chunk.length) {
      closeSlab();
      slab = Buffer.allocUnsafe(SLAB_BYTES);
      from = to = 0;
    }
    to += chunk.copy(slab, to);
  };
  return {
    /** @returns how many bytes there are now */
    add: (chunk: Buffer): number => {
      if (chunk.length < CHUNK_BYTES_MIN) copy(chunk);
      else {
        closeSlab();
        chunks.push(chunk);
      }
      return (bytes += chunk.length);
    },
    take: (): readonly Buffer[] => {
      closeSlab();
      const taken = chunks;
      chunks = [];
      bytes = 0;
      return taken;
    },
  };
};

/** Gathers chunks into pieces of so many bytes, and writes one piece while the next is gathered. */
const createPieces = (draft: Pick<Draft, 'write'>, pieceBytes: () => number) => {
  const gathering = createGathering();
  let writing: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    await writing;
    const piece = gathering.take();
    if (piece.length === 0) return;
    writing = draft.write(piece).finally(() => releaseMemory(piece));
    // Waited for before the next one; a failure until then is nobody's.
    writing.catch(() => undefined);
  };
  return {
    /** To be waited for when it is a promise. */
    add: (chunk: Buffer): Promise<void> | undefined =>
      gathering.add(chunk) < pieceBytes() ? undefined : write(),
    write,
    /** Returns when nothing is being written any more. */
    settled: (): Promise<void> => writing,
  };
};

export interface ExpectedUpload {
  readonly asset: Asset;
  /** For how long the client may send, ms (`IncomingBytes.open`). */
  readonly withinMs: number;
}

/**
 * Takes the bytes of an upload as they come, into `draft` or, without one, only to see what they are. One piece is
 * gathered and hashed while the one before it is written: no more than these two are in memory, and none is copied. The
 * chunks are ours: their memory is given back as soon as they are written, which leaves them empty.
 * @throws ApiError PAYLOAD_TOO_LARGE as soon as that is known; VALIDATION_ERROR when they are not what was promised
 */
export type ReceiveBytes = (
  incoming: IncomingBytes,
  upload: ExpectedUpload,
  draft: Pick<Draft, 'write'> | undefined,
) => Promise<ReceivedBytes>;

/** To be made once: the uploads that it receives share a bound of memory. */
export const createReceiveBytes = (): ReceiveBytes => {
  let uploads = 0;
  const pieceBytes = (): number =>
    Math.max(PIECE_BYTES.least, Math.min(PIECE_BYTES.most, PIECE_BYTES.ofAll / (2 * uploads)));
  return async (incoming, upload, draft) => {
    uploads += 1;
    try {
      return await receive(incoming, upload, draft && createPieces(draft, pieceBytes));
    } finally {
      uploads -= 1;
    }
  };
};

const receive = async (
  incoming: IncomingBytes,
  { asset, withinMs }: ExpectedUpload,
  pieces: ReturnType<typeof createPieces> | undefined,
): Promise<ReceivedBytes> => {
  const { bytesMax } = asset;
  if (incoming.length !== undefined) {
    if (incoming.length > bytesMax) throw tooLarge(bytesMax);
    refuseOtherLength(asset, incoming.length);
  }
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of incoming.open(withinMs)) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      hash.update(chunk);
      if (pieces === undefined) releaseMemory([chunk]);
      const isWritten = pieces?.add(chunk);
      if (isWritten !== undefined) await isWritten;
    }
    await pieces?.write();
  } finally {
    await pieces?.settled();
  }
  refuseOtherLength(asset, bytes);
  const sha256 = hash.digest('hex');
  if (asset.status === 'RESERVED' && asset.sha256 !== undefined && asset.sha256 !== sha256) {
    throw new ApiError({
      code: 'VALIDATION_ERROR',
      message: `The bytes have the SHA-256 ${sha256}, not the reserved one. Send the bytes that were reserved for.`,
      field: 'sha256',
    });
  }
  return { bytes, sha256 };
};

const tooLarge = (bytesMax: number): ApiError =>
  // The rest is not read, so the connection cannot serve another request.
  new ApiError(
    {
      code: 'PAYLOAD_TOO_LARGE',
      message: `The reservation is for at most ${bytesMax} bytes. Reserve a larger upload.`,
    },
    { Connection: 'close' },
  );

/** What a reservation promises; after the upload it is known what came, and other bytes are another answer. */
const refuseOtherLength = ({ status, bytes: promised }: Asset, bytes: number): void => {
  const problem =
    bytes === 0
      ? 'The body is empty'
      : status === 'RESERVED' && promised !== undefined && promised !== bytes
        ? `The body has ${bytes} bytes, not the reserved ${promised}`
        : undefined;
  if (problem === undefined) return;
  throw new ApiError({
    code: 'VALIDATION_ERROR',
    message: `${problem}. Send all bytes of the asset.`,
    field: 'bytes',
  });
};
