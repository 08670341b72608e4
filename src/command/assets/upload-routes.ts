import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { AssetUploaded } from '../../domain/assets/asset-events.ts';
import { shownAssetId } from '../../domain/assets/asset-resource.ts';
import type { AssetRefusal, AssetState } from '../../domain/assets/asset.ts';
import { isoTimestamp } from '../../shared/clock.ts';
import { failpoint } from '../../shared/failpoints.ts';
import { ApiError } from '../../shared/http/errors.ts';
import type { IncomingBytes } from '../../shared/http/incoming-bytes.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/ids.ts';
import type { ByteSource } from '../../shared/media/byte-source.ts';
import { mediaTypeOf } from '../../shared/media/media-types.ts';
import { objectKeyOf, type Draft, type ObjectKey } from '../../shared/storage/object-store.ts';
import {
  admitUpload,
  assetIsGone,
  grantOfToken,
  requireStillOpen,
  tellingHolder,
  uploadActor,
  type AdmittedUpload,
} from './admit-upload.ts';
import { runOnAsset, type AssetWrites } from './asset-writes.ts';
import { inspectBytes } from './inspect-bytes.ts';
import { createObjectAttempts, type ObjectAttempts } from './object-attempts.ts';
import { createSeeing, receiveBytes, type ReceivedBytes } from './receive-bytes.ts';

const UploadResult = z
  .strictObject({ assetId: z.string(), bytes: z.int().min(0) })
  .meta({ id: 'UploadResult' });

/** Endpoints 12 and 13 of the specification. */
export const uploadRoutes = (writes: AssetWrites): readonly Route[] => {
  const parts = { ...writes, attempts: createObjectAttempts(writes.pool) };
  return [
    uploadRoute(parts, 'put', 'uploadAsset', 'Send the bytes of a reserved asset'),
    uploadRoute(parts, 'post', 'uploadAssetByPost', 'The same by POST'),
  ];
};

interface UploadParts extends AssetWrites {
  readonly attempts: ObjectAttempts;
}

const uploadRoute = (
  parts: UploadParts,
  method: 'put' | 'post',
  operationId: string,
  summary: string,
): Route =>
  route({
    method,
    path: '/api/v2/buyer/assets/uploads/{uploadId}',
    operationId,
    summary: `${summary}. The signed token of the reservation is the credential.`,
    tag: 'Assets',
    access: 'public',
    isIdempotent: true,
    params: z.object({ uploadId: z.string().meta({ description: 'Id of the reserved upload.' }) }),
    query: z.object({ token: z.string().optional().meta({ description: 'As in `uploadUrl`.' }) }),
    headers: z.object({
      'x-upload-token': z.string().optional().meta({ description: 'The token, outside of the URL.' }),
    }),
    responses: { 200: { description: 'The asset is in the library', data: UploadResult } },
    receive: async ({ params: { uploadId }, query, headers, bytes }) => {
      const grant = await grantOfToken(parts, uploadId, query.token ?? headers['x-upload-token']);
      return tellingHolder(grant, async () => receiveUpload(parts, await admitUpload(parts, grant), bytes));
    },
    handle: async ({ received, request }) => ({
      status: 200,
      data: await tellingHolder(received.grant, () => completeUpload(parts, received, request)),
    }),
  });

/** Bytes that have come: those of an object of their own, or the same again, of which there is none. */
interface ReceivedUpload extends AdmittedUpload {
  readonly upload: AssetUploaded;
  readonly object?: ObjectKey;
}

/**
 * Everything up to the event. What is refused, or breaks off, leaves nothing behind; what a crash leaves behind is a
 * draft, or an object that is noted as an attempt and that nobody knows the address of.
 */
const receiveUpload = async (
  parts: UploadParts,
  admitted: AdmittedUpload,
  incoming: IncomingBytes,
): Promise<ReceivedUpload> => {
  const { objects, attempts } = parts;
  const { asset, grant } = admitted;
  if (asset.status === 'READY') {
    const again = await receiveBytes(incoming, admitted, createSeeing());
    return { ...admitted, upload: { ...again, storageKey: asset.storageKey } };
  }
  const object = newObjectKey(asset.assetId, asset.mimeType);
  // While the bytes come: nothing but the end of the upload has to wait for it.
  const noted = attempts.begin({ ...asset, storageKey: object });
  noted.catch(() => undefined);
  let draft: Draft | undefined;
  let isKept = false;
  try {
    draft = await objects.begin(object, asset.mimeType);
    const received = await receiveBytes(incoming, admitted, draft);
    const stillOpen = requireStillOpen(parts, grant);
    stillOpen.catch(() => undefined);
    const inspected = await inspectBytes(asset.mimeType, sourceOf(draft, received));
    await Promise.all([stillOpen, noted]);
    failpoint('upload-before-keep');
    isKept = true;
    await draft.keep();
    failpoint('upload-after-keep');
    return { ...admitted, upload: { ...received, ...inspected, storageKey: object }, object };
  } finally {
    if (!isKept) await giveUp(attempts, { draft, noted, object });
  }
};

const sourceOf = (draft: Draft, { bytes }: ReceivedBytes): ByteSource => ({
  bytes,
  readAt: (position, length) => draft.readAt(position, length),
});

/** Nothing was made under the key. */
const giveUp = async (
  attempts: ObjectAttempts,
  {
    draft,
    noted,
    object,
  }: {
    readonly draft: Draft | undefined;
    readonly noted: Promise<void>;
    readonly object: ObjectKey;
  },
): Promise<void> => {
  await draft?.discard();
  // Best effort: what stays noted the sweep finds.
  await noted.then(() => attempts.end(object)).catch(() => undefined);
};

/** Every attempt has an object of its own: to clean up after one never takes away another's. */
const newObjectKey = (assetId: string, mimeType: string): ObjectKey => {
  const { extension } = mediaTypeOf(mimeType);
  const key = objectKeyOf(`${assetId.replaceAll('-', '')}-${randomBytes(12).toString('hex')}.${extension}`);
  if (key === undefined) throw new Error(`no object key can be made of ${assetId}`);
  return key;
};

const completeUpload = async (
  parts: UploadParts,
  { grant: { customerId, uploadId }, asset: { assetId }, stream, upload, object }: ReceivedUpload,
  request: RequestContext,
): Promise<z.infer<typeof UploadResult>> => {
  const { requestId } = request;
  // The same bytes for the same place are one command, however often and wherever they come in.
  const commandId = derivedId(assetId, upload.sha256);
  const context = { commandId, customerId, actor: uploadActor(uploadId), requestId, continues: true };
  const now = isoTimestamp(parts.clock.now());
  const command = { type: 'CompleteUpload', now, upload } as const;
  const { isAbandoned } = request;
  // Without bytes there was no event of theirs; what has come since is met as a lost race.
  const known = object === undefined ? undefined : stream;
  const outcome = await runOnAsset(parts, assetId, command, context, { isAbandoned }, known);
  failpoint('upload-after-event');
  if (object !== undefined) {
    const isOurs = outcome.outcome === 'done' && isAt(outcome.state, object);
    await settle(parts, object, isOurs);
  }
  if (outcome.outcome === 'refused') throw refused(outcome.refusal);
  return { assetId: shownAssetId(assetId), bytes: upload.bytes };
};

const isAt = (state: AssetState, object: ObjectKey): boolean =>
  state.status === 'READY' && state.storageKey === object;

/** Best effort: what is not settled here the sweep settles. */
const settle = async (
  { objects, attempts }: UploadParts,
  object: ObjectKey,
  isOurs: boolean,
): Promise<void> => {
  try {
    if (!isOurs) await objects.remove(object);
    await attempts.end(object);
  } catch {
    // The attempt stays noted.
  }
};

const refused = ({ reason }: AssetRefusal): ApiError => {
  if (reason === 'other-bytes') {
    return new ApiError({
      code: 'CONFLICT',
      message: 'Other bytes were uploaded here before. Reserve another upload for these.',
    });
  }
  return assetIsGone();
};
