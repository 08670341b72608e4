import type { AssetState } from '../../domain/assets/asset.ts';
import { assetIdOfUpload, shownAssetId, type Asset } from '../../domain/assets/resource.ts';
import type { LoadedStream } from '../../shared/aggregate/load-stream.ts';
import { apiErrorOf } from '../../shared/http/api-error-of.ts';
import { ApiError, KnownHolderError, unavailable } from '../../shared/http/errors.ts';
import { writableAdvertiser } from '../advertisers/handler.ts';
import { loadAsset, type AccountNow, type AssetWrites } from './handler.ts';
import type { UploadGrant } from './upload-token.ts';

export interface AdmittedUpload {
  readonly grant: UploadGrant;
  readonly asset: Asset;
  readonly stream: LoadedStream<AssetState>;
  /** Until the token expires. */
  readonly withinMs: number;
  /** Admitted only to compare it with a completed upload; otherwise this refusal is the answer. */
  readonly refusal?: ApiError;
}

/** Every invalid token gets the same answer: it must not reveal uploads. @throws ApiError UNAUTHORIZED */
export const grantOfToken = async (
  { tokens, clock }: Pick<AssetWrites, 'tokens' | 'clock'>,
  uploadId: string,
  token: string | undefined,
): Promise<UploadGrant> => {
  const grant = token === undefined ? undefined : await tokens.verify(token);
  if (grant === undefined || grant.uploadId !== uploadId) throw noToken();
  if (clock.now() > grant.exp * 1_000 + KNOWN_AFTER_MS) throw noToken();
  return grant;
};

/** Older tokens are found in old logs and pages; they must not fill the account's log of refusals. */
const KNOWN_AFTER_MS = 86_400_000;

export const uploadActor = (uploadId: string): string => `upload:${uploadId}`;

/** For the account's audit log. */
export const tellingHolder = async <Result>(
  { customerId, advertiserId, uploadId }: UploadGrant,
  run: () => Promise<Result>,
): Promise<Result> => {
  try {
    return await run();
  } catch (error) {
    const refusal = apiErrorOf(error);
    if (refusal.status >= 500) throw error;
    const holder = { customerId, actor: uploadActor(uploadId) };
    const assetId = assetIdOfUpload(uploadId);
    throw new KnownHolderError(refusal, holder, {
      advertiserId: String(advertiserId),
      ...(assetId === undefined ? {} : { assetId: shownAssetId(assetId) }),
    });
  }
};

/**
 * @param isKeyed with an idempotency key. Only its bytes show whether it repeats a completed upload; a repeat
 *   gets the first answer, also when the asset was deleted since.
 * @throws ApiError UNAUTHORIZED; CONFLICT (advertiser archived, asset deleted); SERVICE_UNAVAILABLE
 */
export const admitUpload = async (
  writes: Pick<AssetWrites, 'store' | 'snapshots' | 'findAccountNow'>,
  grant: UploadGrant,
  isKeyed: boolean,
): Promise<AdmittedUpload> => {
  const { customerId, advertiserId, uploadId } = grant;
  const assetId = assetIdOfUpload(uploadId);
  // All checks run concurrently, but are reported in a fixed order.
  const advertiser = writableAdvertiser(writes, customerId, advertiserId);
  advertiser.catch(() => undefined);
  const [answer, stream] = await Promise.all([
    writes.findAccountNow(customerId),
    assetId === undefined ? undefined : loadAsset(writes, customerId, assetId),
  ]);
  requireOpen(answer);
  const withinMs = grant.exp * 1_000 - answer.nowMs;
  if (withinMs <= 0) throw noToken();
  const asset = stream?.state;
  if (stream === undefined || asset === undefined || asset.status === 'NONE') throw noToken();
  const isGone = asset.status === 'EXPIRED' || asset.status === 'REMOVED';
  const refusal = isGone ? assetIsGone() : await advertiser.then(nothing, definiteRefusal);
  if (refusal === undefined) return { grant, asset, stream, withinMs };
  const wasDone = asset.status === 'READY' || asset.status === 'REMOVED';
  if (!isKeyed || !wasDone) throw refusal;
  return { grant, asset, stream, withinMs, refusal };
};

const nothing = (): undefined => undefined;

const definiteRefusal = (error: unknown): ApiError => {
  if (error instanceof ApiError && error.hadNoEffect) return error;
  throw error;
};

/** Runs after the bytes, which take long. No check of the expiry: an upload begun in time may complete. */
export const requireStillOpen = async (
  writes: Pick<AssetWrites, 'store' | 'snapshots' | 'findAccountNow'>,
  { customerId, advertiserId }: UploadGrant,
): Promise<void> => {
  const advertiser = writableAdvertiser(writes, customerId, advertiserId);
  advertiser.catch(() => undefined);
  requireOpen(await writes.findAccountNow(customerId));
  await advertiser;
};

const requireOpen = ({ isOpen, isKnown }: AccountNow): void => {
  if (!isKnown) {
    throw unavailable('Upload tokens cannot be verified right now. Repeat the request after Retry-After.');
  }
  if (!isOpen) throw noToken();
};

const noToken = (): ApiError =>
  new ApiError({
    code: 'UNAUTHORIZED',
    message: 'The upload token is missing, wrong or expired. Reserve an upload and use its uploadUrl.',
  });

export const assetIsGone = (): ApiError =>
  new ApiError({
    code: 'CONFLICT',
    message: 'The reservation has expired, or the asset was deleted. Reserve another upload.',
  });
