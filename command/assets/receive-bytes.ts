import { createHash } from 'node:crypto';
import type { Asset } from '../../domain/assets/resource.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { IncomingBytes } from '../../shared/http/incoming-bytes.ts';
import type { Draft } from '../../shared/storage/object-store.ts';

export interface ReceivedBytes {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

export interface ExpectedUpload {
  readonly asset: Asset;
  readonly withinMs: number;
}

export const dropBytes = async (bytes: AsyncIterable<Buffer>): Promise<void> => {
  for await (const chunk of bytes) void chunk;
};

/** @throws ApiError PAYLOAD_TOO_LARGE at the limit; VALIDATION_ERROR if length or hash are not as reserved */
export const receiveBytes = async (
  incoming: IncomingBytes,
  { asset, withinMs }: ExpectedUpload,
  write: Draft['write'],
): Promise<ReceivedBytes> => {
  const { bytesMax } = asset;
  if (incoming.length !== undefined) {
    if (incoming.length > bytesMax) throw tooLarge(bytesMax);
    refuseOtherLength(asset, incoming.length);
  }
  const hash = createHash('sha256');
  let bytes = 0;
  const seen = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of incoming.read(withinMs)) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      hash.update(chunk);
      yield chunk;
    }
  };
  await write(seen());
  refuseOtherLength(asset, bytes);
  const sha256 = hash.digest('hex');
  if (asset.status === 'RESERVED' && asset.sha256 !== undefined && asset.sha256 !== sha256) {
    throw new ApiError({
      code: 'VALIDATION_ERROR',
      message: `The bytes have the SHA-256 ${sha256}, not the reserved one. Send the reserved bytes.`,
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
      message: `The reservation is for at most ${bytesMax} bytes. Reserve another one that names the length of the file as bytes.`,
    },
    { Connection: 'close' },
  );

/** Checks the reserved length. After a completed upload, other bytes get the answer `other-bytes` instead. */
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
