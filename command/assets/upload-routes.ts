import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { AssetUploaded } from '../../domain/assets/events.ts';
import { shownAssetId } from '../../domain/assets/resource.ts';
import type { AssetRefusal, AssetState } from '../../domain/assets/asset.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { failpoint } from '../../shared/async/failpoints.ts';
import { conflict, type ApiError } from '../../shared/http/errors.ts';
import type { IncomingBytes } from '../../shared/http/incoming-bytes.ts';
import { route, type RequestContext, type Route } from '../../shared/http/route.ts';
import { derivedId } from '../../shared/aggregate/ids.ts';
import { fingerprintOf } from '../../shared/idempotency/request-fingerprint.ts';
import { mediaTypeOf } from '../../shared/storage/media-types.ts';
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
import { executeOnAsset, type AssetWrites } from './handler.ts';
import { inspectBytes } from './inspect-bytes.ts';
import type { ObjectAttempts } from './object-attempts.ts';
import { createOpenUploads, type OpenUploads } from './open-uploads.ts';
import { dropBytes, receiveBytes } from './receive-bytes.ts';

const UploadResult = z
  .strictObject({ assetId: z.string(), bytes: z.int().min(0) })
  .meta({ id: 'UploadResult' });

const path = '/api/v2/buyer/assets/uploads/{uploadId}';

export const uploadRoutes = (writes: AssetWrites, attempts: ObjectAttempts): readonly Route[] => {
  const uploads = { ...writes, attempts, open: createOpenUploads(writes.uploadsOpenMax) };
  return [
    uploadRoute(uploads, 'put', 'uploadAsset', 'Send the bytes of a reserved asset'),
    uploadRoute(uploads, 'post', 'uploadAssetByPost', 'Send the bytes of a reserved asset by POST'),
  ];
};

interface Uploads extends AssetWrites {
  readonly attempts: ObjectAttempts;
  readonly open: OpenUploads;
}

const uploadRoute = (uploads: Uploads, method: 'put' | 'post', operationId: string, summary: string): Route =>
  route({
    method,
    path,
    operationId,
    summary: `${summary}. The signed token of the reservation is the credential.`,
    description:
      'Sent to the `uploadUrl` of a reservation, as it is, before `expiresAt`. The same bytes again change nothing; ' +
      'other bytes are 409.',
    tag: 'Assets',
    access: 'public',
    uploadToken: true,
    params: z.object({ uploadId: z.string().meta({ description: 'Id of the reserved upload.' }) }),
    query: z.object({ token: z.string().optional().meta({ description: 'As in `uploadUrl`.' }) }),
    headers: z.object({
      'x-upload-token': z.string().optional().meta({ description: 'The token, outside of the URL.' }),
    }),
    responses: { 200: { description: 'The asset is in the library', data: UploadResult } },
    receive: async ({ params: { uploadId }, query, headers, isKeyed, bytes, clientAddress }) => {
      const grant = await grantOfToken(uploads, uploadId, query.token ?? headers['x-upload-token']);
      const holder = { clientAddress, customerId: grant.customerId };
      return tellingHolder(grant, () =>
        uploads.open.run(holder, async () =>
          receiveUpload(uploads, await admitUpload(uploads, grant, isKeyed), bytes),
        ),
      );
    },
    // With the same bytes, PUT and POST are the same request.
    keyOf: ({ params: { uploadId }, received: { upload } }) => ({
      scope: `upload:${uploadId}`,
      fingerprint: fingerprintOf({
        method: 'put',
        path,
        pathValues: { uploadId },
        body: { sha256: upload.sha256 },
      }),
    }),
    discard: async ({ object }) => {
      if (object !== undefined) await settle(uploads, object, false);
    },
    handle: async ({ received, request }) => ({
      status: 200,
      data: await tellingHolder(received.grant, () => completeUpload(uploads, received, request)),
    }),
  });

/** The received bytes. `object` is undefined when they repeat a completed upload, which stores no object. */
interface ReceivedUpload extends AdmittedUpload {
  readonly upload: AssetUploaded;
  readonly object?: ObjectKey;
}

/** All before the event. A crash leaves a draft, or a recorded attempt whose address no client knows. */
const receiveUpload = async (
  uploads: Uploads,
  admitted: AdmittedUpload,
  incoming: IncomingBytes,
): Promise<ReceivedUpload> => {
  const { objects, attempts } = uploads;
  const { asset, grant } = admitted;
  if (asset.status === 'READY' || asset.status === 'REMOVED') {
    const again = await receiveBytes(incoming, admitted, dropBytes);
    return { ...admitted, upload: { ...again, storageKey: asset.storageKey } };
  }
  const object = newObjectKey(asset.assetId, asset.mimeType);
  const noted = attempts.begin({ ...asset, storageKey: object });
  noted.catch(() => undefined);
  let draft: Draft | undefined;
  let isKept = false;
  try {
    const begun = (draft = await objects.begin(object, asset.mimeType));
    const received = await receiveBytes(incoming, admitted, (bytes) => begun.write(bytes));
    const stillOpen = requireStillOpen(uploads, grant);
    stillOpen.catch(() => undefined);
    const inspected = await begun.inspect((bytes) => inspectBytes(asset.mimeType, bytes));
    await Promise.all([stillOpen, noted]);
    failpoint('upload-before-keep');
    isKept = true;
    await draft.keep();
    failpoint('upload-after-keep');
    return { ...admitted, upload: { ...received, ...inspected, storageKey: object }, object };
  } finally {
    if (!isKept) {
      await draft?.discard();
      await noted.then(() => attempts.end(object)).catch(() => undefined);
    }
  }
};

/** Every attempt has its own object, so its cleanup never deletes another attempt's bytes. */
const newObjectKey = (assetId: string, mimeType: string): ObjectKey => {
  const { extension } = mediaTypeOf(mimeType);
  const key = objectKeyOf(`${assetId.replaceAll('-', '')}-${randomBytes(12).toString('hex')}.${extension}`);
  if (key === undefined) throw new Error(`no object key can be made of ${assetId}`);
  return key;
};

const completeUpload = async (
  uploads: Uploads,
  { grant: { customerId, uploadId }, asset: { assetId }, stream, upload, object, refusal }: ReceivedUpload,
  request: RequestContext,
): Promise<z.infer<typeof UploadResult>> => {
  if (refusal !== undefined) throw refusal;
  const { requestId, onEvents } = request;
  // Without an idempotency key, the same bytes for the same asset are one command, on any node.
  const commandId = request.isRepeatable ? request.commandId : derivedId(assetId, upload.sha256);
  const actor = uploadActor(uploadId);
  const context = { commandId, customerId, actor, requestId, continues: true, onEvents };
  const now = isoTimestamp(uploads.clock.now());
  const command = { type: 'CompleteUpload', now, upload } as const;
  const { isAbandoned } = request;
  // Without stored bytes this run has no event yet. A concurrent change surfaces as an append conflict.
  const known = object === undefined ? undefined : stream;
  const outcome = await executeOnAsset(uploads, assetId, command, { context, isAbandoned, known });
  failpoint('upload-after-event');
  if (object !== undefined) {
    const isOurs = outcome.outcome === 'done' && isAt(outcome.state, object);
    await settle(uploads, object, isOurs);
  }
  if (outcome.outcome === 'refused') throw refused(outcome.refusal);
  return { assetId: shownAssetId(assetId), bytes: upload.bytes };
};

const isAt = (state: AssetState, object: ObjectKey): boolean =>
  state.status === 'READY' && state.storageKey === object;

/** Best effort: the sweep settles what remains. */
const settle = async ({ objects, attempts }: Uploads, object: ObjectKey, isOurs: boolean): Promise<void> => {
  try {
    if (!isOurs) await objects.remove(object);
    await attempts.end(object);
  } catch {}
};

const refused = ({ reason }: AssetRefusal): ApiError => {
  if (reason === 'other-bytes') {
    return conflict('Other bytes were uploaded here before. Reserve another upload for these.');
  }
  return assetIsGone();
};
