import type { QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { assetEvents } from '../../domain/assets/asset-events.ts';
import {
  assetDecider,
  assetStream,
  type AssetCommand,
  type AssetRefusal,
  type AssetState,
} from '../../domain/assets/asset.ts';
import type { Clock } from '../../shared/clock.ts';
import type { CommandContext } from '../../shared/command/command-context.ts';
import { executeCommand, type Outcome } from '../../shared/command/execute-command.ts';
import { loadStream, type LoadedStream } from '../../shared/command/load-stream.ts';
import type { SnapshotStore } from '../../shared/command/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { RequestContext } from '../../shared/http/route.ts';
import type { ObjectStore } from '../../shared/storage/object-store.ts';
import type { UploadBytesMax } from '../../shared/upload-limits.ts';
import type { UploadTokens } from './upload-token.ts';

/** As a pool is asked; it may refuse. */
export interface AskDatabase {
  query<Row extends QueryResultRow>(question: QueryConfig): Promise<QueryResult<Row>>;
}

/** What the write side of assets works with. */
export interface AssetWrites {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
  /** Across accounts: whoever uploads has a token and no account. */
  readonly pool: AskDatabase;
  readonly objects: ObjectStore;
  readonly tokens: UploadTokens;
  readonly bytesMax: UploadBytesMax;
  /** How clients reach the service. */
  readonly baseUrl: () => string;
  /** Whether anything live shows the asset. Holds all that the account has written before. */
  readonly isInUse: (customerId: number, assetId: string) => Promise<boolean>;
}

const aggregate = { decider: assetDecider, events: assetEvents };

/** @param known its stream as it was when it held no event of this command (`ExecuteOptions`) */
export const runOnAsset = (
  { store }: Pick<AssetWrites, 'store'>,
  assetId: string,
  command: AssetCommand,
  context: CommandContext,
  request: Partial<Pick<RequestContext, 'isAbandoned' | 'hasRunBefore'>> = {},
  known?: LoadedStream<AssetState>,
): Promise<Outcome<AssetState, AssetRefusal>> => {
  const { isAbandoned, hasRunBefore } = request;
  return executeCommand(store, aggregate, {
    stream: assetStream(context.customerId, assetId),
    command,
    context,
    known,
    ...(isAbandoned && { isAbandoned }),
    ...(hasRunBefore && { hasRunBefore }),
  });
};

/**
 * An asset as its stream says now, whatever has become of it.
 * @param assetId UUID
 */
export const loadAsset = async (
  store: EventStore,
  customerId: number,
  assetId: string,
): Promise<AssetState> => (await loadAssetStream(store, customerId, assetId)).state;

/** The same with how far its stream has come. */
export const loadAssetStream = (
  store: EventStore,
  customerId: number,
  assetId: string,
): Promise<LoadedStream<AssetState>> => loadStream(store, aggregate, assetStream(customerId, assetId), {});
