import type { QueryConfig, QueryResult, QueryResultRow } from 'pg';
import { assetAggregate } from '../../domain/assets/asset.ts';
import type { Clock } from '../../shared/async/clock.ts';
import { handlerFor } from '../../shared/aggregate/handler-for.ts';
import type { SnapshotStore } from '../../shared/aggregate/snapshots.ts';
import type { EventStore } from '../../shared/event-store/event-store.ts';
import type { ObjectStore } from '../../shared/storage/object-store.ts';
import type { UploadBytesMax } from './upload-limits.ts';
import type { UploadTokens } from './upload-token.ts';

export interface AskDatabase {
  query<Row extends QueryResultRow>(question: QueryConfig): Promise<QueryResult<Row>>;
}

/** From the database, because all nodes share its clock. */
export interface AccountNow {
  readonly nowMs: number;
  readonly isOpen: boolean;
  /** False during a rebuild: the account may look open although it is disabled. */
  readonly isKnown: boolean;
}

export interface AssetWrites {
  readonly store: EventStore;
  readonly snapshots: SnapshotStore;
  readonly clock: Clock;
  readonly pool: AskDatabase;
  readonly objects: ObjectStore;
  readonly tokens: UploadTokens;
  readonly bytesMax: UploadBytesMax;
  /** Concurrent uploads per client address, and per account, in this process. */
  readonly uploadsOpenMax: number;
  readonly baseUrl: () => string;
  readonly findAccountNow: (customerId: number) => Promise<AccountNow>;
  /** True while a live creative uses the asset. Reads the account's own writes. */
  readonly isInUse: (customerId: number, assetId: string) => Promise<boolean>;
}

export const { execute: executeOnAsset, loadAt: loadAsset } = handlerFor(assetAggregate);
