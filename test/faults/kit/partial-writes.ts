import { createHash } from 'node:crypto';
import type { AdvertiserResource } from '../../../domain/advertisers/resource.ts';
import { advertiserStream } from '../../../domain/advertisers/advertiser.ts';
import type { Asset } from '../../../domain/assets/resource.ts';
import { ASSET } from '../../../domain/assets/asset.ts';
import type { Campaign } from '../../../domain/campaigns/resource.ts';
import { CAMPAIGN } from '../../../domain/campaigns/campaign.ts';
import type { CreativeSession } from '../../../domain/creative-sessions/resource.ts';
import { CREATIVE_SESSION } from '../../../domain/creative-sessions/creative-session.ts';
import { creativeNamesStream, type CreativeNames } from '../../../domain/creatives/creative-names.ts';
import type { Creative } from '../../../domain/creatives/resource.ts';
import { CREATIVE, creativeStream } from '../../../domain/creatives/creative.ts';
import { maskedKeyOf, type EngineConnection } from '../../../domain/engines/resource.ts';
import { ENGINE_CONNECTION } from '../../../domain/engines/engine-connection.ts';
import type { Installation } from '../../../app/installation.ts';
import type { Config } from '../../../app/config.ts';
import { keyRingOf } from '../../../shared/secrets/key-ring.ts';
import { openObjectStore } from '../../../shared/storage/open-object-store.ts';
import { createSecretStore, type SecretStore } from '../../../shared/secrets/secret-store.ts';
import { objectKeyOf, type ObjectKey, type ObjectStore } from '../../../shared/storage/object-store.ts';
import { lastOf, type Streams } from './streams.ts';

/** Stores outside the log to which events refer. */
export interface ReferencedStores {
  readonly secrets: SecretStore;
  readonly objects: ObjectStore;
}

/** Opens the stores that the service's configuration names. */
export const referencedStoresOf = async (
  config: Config,
  { pool }: Pick<Installation, 'pool'>,
): Promise<ReferencedStores> => ({
  secrets: createSecretStore(pool, keyRingOf(config)),
  objects: await openObjectStore(undefined, config.DATA_DIR),
});

/** Writes that reached only one of two places, although nothing runs any more. */
export const partialWrites = async (
  streams: Streams,
  keeps: ReferencedStores,
): Promise<readonly string[]> => [
  ...withoutCurrency(streams),
  ...withoutName(streams),
  ...withoutCreative(streams),
  ...(await withoutBytes(streams, keeps)),
  ...(await withoutKey(streams, keeps)),
];

const stateOf = (streams: Streams, stream: string): unknown => streams.get(stream)?.at(-1);

/** Campaigns whose advertiser has another currency, or has not locked it. */
const withoutCurrency = (streams: Streams): readonly string[] =>
  (lastOf(streams, CAMPAIGN) as readonly Campaign[]).flatMap(
    ({ customerId, advertiserId, campaignId, currency }) => {
      const stream = advertiserStream(customerId, advertiserId);
      const advertiser = stateOf(streams, stream) as AdvertiserResource | undefined;
      const isLocked = advertiser?.currencyLocked === true && advertiser.primaryCurrency === currency;
      return isLocked ? [] : [`campaign ${campaignId} has ${currency}, which ${stream} has not locked`];
    },
  );

/** Creatives that do not hold their names, e.g. because two hold the same name. */
const withoutName = (streams: Streams): readonly string[] =>
  (lastOf(streams, CREATIVE) as readonly Creative[])
    .filter(({ state }) => state !== 'archived')
    .flatMap(({ customerId, creativeId, name, campaignIds }) =>
      campaignIds
        .filter((campaignId) => {
          const names =
            (stateOf(streams, creativeNamesStream(customerId, campaignId)) as CreativeNames | undefined) ??
            {};
          return names[name]?.creativeId !== creativeId;
        })
        .map((campaignId) => `creative ${creativeId} does not hold "${name}" in campaign ${campaignId}`),
    );

/** Finalized sessions whose creative was created from another variant. */
const withoutCreative = (streams: Streams): readonly string[] =>
  (lastOf(streams, CREATIVE_SESSION) as readonly CreativeSession[]).flatMap(
    ({ customerId, sessionId, final }) => {
      if (final === undefined) return [];
      const creative = stateOf(streams, creativeStream(customerId, final.creativeId)) as Creative | undefined;
      const { madeIn } = creative ?? {};
      return madeIn?.sessionId === sessionId && madeIn.variantId === final.variantId
        ? []
        : [
            `session ${sessionId} is finalized in ${final.variantId}, but its creative has ${madeIn?.variantId}`,
          ];
    },
  );

/** Assets whose stored bytes differ from the acknowledged ones. */
const withoutBytes = async (streams: Streams, { objects }: ReferencedStores): Promise<readonly string[]> => {
  const problems: string[] = [];
  for (const asset of lastOf(streams, ASSET) as readonly Asset[]) {
    if (asset.status !== 'READY' || !('storageKey' in asset)) continue;
    const key = objectKeyOf(asset.storageKey);
    const kept = key === undefined ? undefined : await hashOf(objects, key);
    if (kept !== asset.sha256) problems.push(`asset ${asset.assetId} has bytes ${kept ?? 'none'}`);
  }
  return problems;
};

const hashOf = async (objects: ObjectStore, key: ObjectKey): Promise<string | undefined> => {
  const bytes = await objects.read(key);
  if (bytes === undefined) return undefined;
  const hash = createHash('sha256');
  for await (const piece of bytes) hash.update(piece as Buffer);
  return hash.digest('hex');
};

/** Live connections whose key is missing or different. */
const withoutKey = async (streams: Streams, { secrets }: ReferencedStores): Promise<readonly string[]> => {
  const problems: string[] = [];
  for (const connection of lastOf(streams, ENGINE_CONNECTION) as readonly EngineConnection[]) {
    const { status, customerId, connectionId, secretId, maskedKey } = connection;
    if (status !== 'connected') continue;
    const key = await secrets.get(customerId, secretId);
    if (key === undefined || maskedKeyOf(key) !== maskedKey) {
      problems.push(`connection ${connectionId} has the key ${key ?? 'none'}`);
    }
  }
  return problems;
};
