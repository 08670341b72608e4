import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { ObjectStoreUnavailableError, type ObjectKey, type ObjectStore } from './object-store.ts';
import type { S3Location } from './s3-location.ts';
import { createSpool } from './spool.ts';

/** The SDK's errors are thrown, and the caller logs them. */
const say = (): void => undefined;
const silent = { trace: say, debug: say, info: say, warn: say, error: say };

const CONNECT_MS_MAX = 2_000;
const SILENCE_MS_MAX = 10_000;
/** A slow client holds a socket. With the SDK's default of 50, a few such clients block all. */
const SOCKETS = { maxSockets: 2_000 };

/** One request of known length: atomic, in constant memory, without parts to clean up. */
export const createS3Store = (location: S3Location, spoolFolder: string): ObjectStore => {
  const client = new S3Client({
    region: location.region,
    ...(location.endpoint === undefined ? {} : { endpoint: location.endpoint, forcePathStyle: true }),
    ...(location.credentials === undefined ? {} : { credentials: location.credentials }),
    maxAttempts: 3,
    logger: silent,
    requestHandler: {
      connectionTimeout: CONNECT_MS_MAX,
      socketTimeout: SILENCE_MS_MAX,
      httpAgent: SOCKETS,
      httpsAgent: SOCKETS,
    },
    // Some S3-compatible stores do not support the SDK's checksums. The bytes are verified before the upload.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const spool = createSpool(spoolFolder, false);
  const at = (key: ObjectKey) => ({ Bucket: location.bucket, Key: location.prefix + key });
  return {
    kind: 's3',
    begin: async (key, contentType) => {
      const file = await spool.create();
      return {
        write: (bytes) => file.write(bytes),
        inspect: (look) => file.inspect(look),
        keep: async () => {
          try {
            await orUnavailable(() => put(client, at(key), file.path, contentType));
          } finally {
            await file.remove();
          }
        },
        discard: () => file.remove(),
      };
    },
    sizeOf: (key) =>
      orUnavailable(async () => (await client.send(new HeadObjectCommand(at(key)))).ContentLength).catch(
        ifNoSuchKey,
      ),
    read: (key, range) =>
      orUnavailable(async () => {
        const Range = range === undefined ? {} : { Range: `bytes=${range.first}-${range.last}` };
        const { Body } = await client.send(new GetObjectCommand({ ...at(key), ...Range }));
        if (!(Body instanceof Readable)) throw new Error('the SDK returned no stream');
        return Body;
      }).catch(ifNoSuchKey),
    remove: (key) =>
      orUnavailable(async () => {
        await client.send(new DeleteObjectCommand(at(key)));
      }).catch(ifNoSuchKey),
    sweep: (olderThanMs) => spool.sweep(olderThanMs),
    check: () =>
      orUnavailable(async () => {
        await client.send(new HeadBucketCommand({ Bucket: location.bucket }));
      }).catch(ifNoBucket),
  };
};

const put = async (
  client: S3Client,
  at: { readonly Bucket: string; readonly Key: string },
  path: string,
  ContentType: string,
): Promise<void> => {
  const { size } = await stat(path);
  const Body = createReadStream(path);
  try {
    await client.send(new PutObjectCommand({ ...at, ContentType, ContentLength: size, Body }));
  } finally {
    // The SDK does not close the stream when the request fails.
    Body.destroy();
  }
};

class NoSuchKeyError extends Error {
  override readonly name = 'NoSuchKeyError';
}

const orUnavailable = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    const isMissing =
      error instanceof S3ServiceException &&
      error.$metadata.httpStatusCode === 404 &&
      error.name !== 'NoSuchBucket';
    if (isMissing) throw new NoSuchKeyError('no such object', { cause: error });
    throw new ObjectStoreUnavailableError(reasonOf(error), { cause: error });
  }
};

const NO_BUCKET = 'the S3 bucket does not exist: create it, or correct ASSET_STORE_URL';

/** For operators: with the code of S3, e.g. `AccessDenied`. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof S3ServiceException)) return 'the S3 store did not answer';
  return error.name === 'NoSuchBucket' ? NO_BUCKET : `the S3 store refused the request: ${error.name}`;
};

/** A 404 without a body does not name what is missing. This call addresses no object, so it is the bucket. */
const ifNoBucket = (error: unknown): never => {
  throw error instanceof NoSuchKeyError
    ? new ObjectStoreUnavailableError(NO_BUCKET, { cause: error })
    : error;
};

const ifNoSuchKey = (error: unknown): undefined => {
  if (!(error instanceof NoSuchKeyError)) throw error;
};
