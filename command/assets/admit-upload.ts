import type { AssetState } from '../../domain/assets/asset.ts';
import { assetIdOfUpload, shownAssetId, type Asset } from '../../domain/assets/asset-resource.ts';
import { isAccessKnownSql } from '../../shared/auth/account-rows.ts';
import type { LoadedStream } from '../../shared/aggregate/load-stream.ts';
import { apiErrorOf } from '../../shared/http/api-error-of.ts';
import { ApiError, KnownHolderError, unavailable } from '../../shared/http/errors.ts';
import { writableAdvertiser } from '../advertisers/load.ts';
import { loadAsset, type AssetWrites } from './asset-writes.ts';
import type { UploadGrant } from './upload-token.ts';

/** An upload that may begin, and what its asset was then. */
export interface AdmittedUpload {
  readonly grant: UploadGrant;
  readonly asset: Asset;
  /** The asset's stream then. */
  readonly stream: LoadedStream<AssetState>;
  /** To the end of its token then, ms. */
  readonly withinMs: number;
  /** Why it may not begin, unless it repeats an upload that is done. */
  readonly refusal?: ApiError;
}

/**
 * What a token was given out for. Whatever is wrong with it the answer is the same, and says nothing of whether there
 * is such an upload (decisions.md E12/E13).
 * @throws ApiError UNAUTHORIZED
 */
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

/**
 * Whoever comes with a token that ended longer ago is nobody: it is found in old logs and pages, and is not to fill what an
 * account keeps of refusals.
 */
const KNOWN_AFTER_MS = 86_400_000;

/** Who holds an upload's token, as the log names whoever comes with it. */
export const uploadActor = (uploadId: string): string => `upload:${uploadId}`;

/** Whoever holds the token is known by it: the account learns what was refused there, and about which asset. */
export const tellingHolder = async <Result>(
  { customerId, advertiserId, uploadId }: UploadGrant,
  run: () => Promise<Result>,
): Promise<Result> => {
  try {
    return await run();
  } catch (error) {
    const refusal = apiErrorOf(error);
    // Refused is what the client can mend.
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
 * Finds out whether an upload may begin. Whatever is wrong with its token the answer is the same.
 * @param isKeyed it has an idempotency key: only with its bytes is it known whether it repeats an upload that is done,
 *   whose answer it gets whatever has become of the asset since
 * @throws ApiError UNAUTHORIZED; CONFLICT when the advertiser is archived or the asset is gone; SERVICE_UNAVAILABLE
 *   when it is not known whether the account is open
 */
export const admitUpload = async (
  writes: Pick<AssetWrites, 'store' | 'snapshots' | 'pool'>,
  grant: UploadGrant,
  isKeyed: boolean,
): Promise<AdmittedUpload> => {
  const { customerId, advertiserId, uploadId } = grant;
  const assetId = assetIdOfUpload(uploadId);
  // All at once; what is wrong is said in order.
  const advertiser = writableAdvertiser(writes, customerId, advertiserId);
  advertiser.catch(() => undefined);
  const [answer, stream] = await Promise.all([
    askDatabase(writes, customerId),
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

/** @throws what is not known for certain */
const definiteRefusal = (error: unknown): ApiError => {
  if (error instanceof ApiError && error.hadNoEffect) return error;
  throw error;
};

/**
 * Asked again behind the bytes, which may take as long as their token lasts: whether there may still be something of the
 * account and below the advertiser.
 * @throws ApiError as `admitUpload`, but for the time of the token: who has begun in time is not late
 */
export const requireStillOpen = async (
  writes: Pick<AssetWrites, 'store' | 'snapshots' | 'pool'>,
  { customerId, advertiserId }: UploadGrant,
): Promise<void> => {
  const advertiser = writableAdvertiser(writes, customerId, advertiserId);
  advertiser.catch(() => undefined);
  requireOpen(await askDatabase(writes, customerId));
  await advertiser;
};

const requireOpen = ({ isOpen, isKnown }: Answer): void => {
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

interface Answer {
  readonly nowMs: number;
  /** Means nothing unless `isKnown`. */
  readonly isOpen: boolean;
  readonly isKnown: boolean;
}

/** The time, and whether the account is open: both as of now, by the database that all nodes share. */
const askDatabase = async ({ pool }: Pick<AssetWrites, 'pool'>, customerId: number): Promise<Answer> => {
  const { rows } = await pool.query<{ now: Date; isOpen: boolean; isKnown: boolean }>({
    name: 'upload-admission',
    text: `select clock_timestamp() as now,
             exists (select from accounts where customer_id = $1
                     and disabled_at is null and access_revision >= 0) as "isOpen",
             ${isAccessKnownSql} as "isKnown"`,
    values: [customerId],
  });
  const [row] = rows;
  return {
    nowMs: row?.now.getTime() ?? Infinity,
    isOpen: row?.isOpen === true,
    isKnown: row?.isKnown === true,
  };
};
