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

/** The SDK's own lines are no log lines; what fails is thrown, and said by whoever meets it. */
const say = (): void => undefined;
const silent = { trace: say, debug: say, info: say, warn: say, error: say };

/** Of one call, without the bytes that it brings. */
const CONNECT_MS_MAX = 2_000;
/** Without a byte in either direction. */
const SILENCE_MS_MAX = 10_000;
/** Whoever reads an asset slowly keeps one for as long: of the 50 of the SDK none would be left for anybody else. */
const SOCKETS = { maxSockets: 2_000 };

/**
 * Objects in an S3-compatible store. A draft is a file on this machine until it is known to be what was promised; then
 * it goes over in one request, of known length, so that the store has all of it or nothing: there are no
 * parts of an upload to be swept, and the memory of an upload does not depend on its size.
 * @param spoolFolder for drafts
 */
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
    // Stores that are not Amazon's do not all know the SDK's own sums; the bytes are checked before they go over.
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
        if (!(Body instanceof Readable)) throw new Error('the SDK gives no stream');
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
    // The SDK leaves it open when the request breaks off.
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
    throw new ObjectStoreUnavailableError('the S3 store refused, or did not answer', { cause: error });
  }
};

/** An answer without a body does not say what is missing: where no object is asked for, it is the bucket. */
const ifNoBucket = (error: unknown): never => {
  throw error instanceof NoSuchKeyError
    ? new ObjectStoreUnavailableError('the S3 store has no such bucket', { cause: error })
    : error;
};

const ifNoSuchKey = (error: unknown): undefined => {
  if (!(error instanceof NoSuchKeyError)) throw error;
};
