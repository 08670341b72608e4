import { randomUUID } from 'node:crypto';
import { createCampaign } from '../../command/campaigns/commands.ts';
import type { CreativeWrites } from '../../command/creatives/handler.ts';
import {
  advertiserAggregate,
  advertiserStream,
  type AdvertiserCommand,
} from '../../domain/advertisers/advertiser.ts';
import { assetIdOf } from '../../domain/assets/resource.ts';
import { assetAggregate, assetStream, type AssetCommand } from '../../domain/assets/asset.ts';
import type { Campaign } from '../../domain/campaigns/resource.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import { createMemoryEventStore } from '../../shared/event-store/memory-event-store.ts';
import { advertiserDetails } from './advertiser-details.ts';
import { commandRequest } from './command-request.ts';
import { noSnapshots } from './two-processes.ts';

export const [CUSTOMER, ADVERTISER] = [7, 5];

/** A log in memory with one advertiser, and a clock that the test sets. */
export interface CampaignLog {
  readonly store: EventStore;
  /** Milliseconds since the epoch. */
  nowMs: number;
  /** The dependencies of commands. `store` may be the log as another process uses it. */
  writes(store?: EventStore): CreativeWrites;
  onAdvertiser(command: AdvertiserCommand, store?: EventStore): ReturnType<typeof runOnAdvertiser>;
  newCampaign(name?: string): Promise<Campaign>;
  typesOf(stream: string): Promise<readonly string[]>;
}

const runOnAdvertiser = (store: EventStore, command: AdvertiserCommand) =>
  executeCommand(store, advertiserAggregate, {
    stream: advertiserStream(CUSTOMER, ADVERTISER),
    command,
    context: { commandId: randomUUID(), customerId: CUSTOMER, actor: 'test', requestId: 'r' },
  });

/** @param assetIds ids, as the API shows them, of assets in the advertiser's library */
export const openCampaignLog = async (assetIds: readonly string[] = []): Promise<CampaignLog> => {
  const store = createMemoryEventStore();
  const log: CampaignLog = {
    store,
    nowMs: Date.parse('2026-01-01T00:00:00Z'),
    writes: (through = store) => ({
      store: through,
      snapshots: noSnapshots,
      clock: { now: () => (log.nowMs += 1) },
    }),
    onAdvertiser: (command, through = store) => runOnAdvertiser(through, command),
    newCampaign: (name = 'Spring') =>
      createCampaign(log.writes(), { advertiserId: ADVERTISER, name }, commandRequest(CUSTOMER)),
    typesOf: async (stream) => {
      const types: string[] = [];
      for await (const { type } of store.readStream(stream)) types.push(type);
      return types;
    },
  };
  await log.onAdvertiser({
    type: 'CreateAdvertiser',
    now: isoTimestamp(log.nowMs),
    customerId: CUSTOMER,
    advertiserId: ADVERTISER,
    details: advertiserDetails,
    frequencyCaps: [],
    newCapIds: [],
  });
  for (const shownId of assetIds) await addAsset(store, assetIdOf(shownId) ?? '', isoTimestamp(log.nowMs));
  return log;
};

const addAsset = async (store: EventStore, assetId: string, now: string): Promise<void> => {
  const asset = {
    assetId,
    customerId: CUSTOMER,
    advertiserId: ADVERTISER,
    name: 'Asset',
    mimeType: 'image/png',
    mediaKind: 'image',
    source: 'uploaded',
    bytesMax: 1_000,
    expiresAt: now,
  } as const;
  const upload = { storageKey: assetId, bytes: 1_000, sha256: '00' };
  const commands: readonly AssetCommand[] = [
    { type: 'ReserveAsset', now, asset },
    { type: 'CompleteUpload', now, upload },
  ];
  for (const command of commands) {
    await executeCommand(store, assetAggregate, {
      stream: assetStream(CUSTOMER, assetId),
      command,
      context: { commandId: randomUUID(), customerId: CUSTOMER, actor: 'test', requestId: 'r' },
    });
  }
};
