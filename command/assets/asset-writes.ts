import type { QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { assetAggregate } from '../../domain/assets/asset.ts';
import type { Clock } from '../../shared/async/clock.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { ObjectStore } from '../../shared/storage/object-store.ts';
import type { UploadBytesMax } from './upload-limits.ts';
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
  /** Uploads that one client address, and one account, may have open at once in this process. */
  readonly uploadsOpenMax: number;
  /** How clients reach the service. */
  readonly baseUrl: () => string;
  /** Whether anything live shows the asset. Holds all that the account has written before. */
  readonly isInUse: (customerId: number, assetId: string) => Promise<boolean>;
}

export const { execute: executeOnAsset, loadAt: loadAsset } = handlerFor(assetAggregate);
