import type { Pool } from 'pg';
import type { PageEnd } from '../../command/workers/webhooks/change-rows.ts';
import type { KeptNotification } from '../../domain/notifications/body.ts';
import type { Replay } from '../../domain/webhooks/work.ts';
import { START, type Position } from '../../shared/event-store/event-store.ts';

type Database = Pick<Pool, 'query'>;

/** @param pool not bound to an account */
export const isFeedAt = async (pool: Database, position: Position): Promise<boolean> => {
  const { rows } = await pool.query<{ reached: boolean }>({
    name: 'feed-reached',
    text: `select position >= $1 collate "C" as reached from projection_checkpoints where name = 'notifications'`,
    values: [position],
  });
  return rows[0]?.reached === true;
};

export interface ReplayedPage {
  readonly notifications: readonly (KeptNotification & { readonly position: Position })[];
  /** Undefined at the end. */
  readonly end: PageEnd | undefined;
}

interface Row extends Omit<KeptNotification, 'path' | 'advertiserId' | 'occurredAt' | 'revision'> {
  readonly position: Position;
  readonly idx: number;
  readonly path: string | null;
  readonly advertiserId: number | null;
  readonly occurredAt: Date;
  readonly revision: string;
  readonly isWanted: boolean;
}

/** Reads at most `rowsMax` rows, wanted or not, so that a page costs the same wherever it is. */
export const replayedPage = async (
  pool: Database,
  customerId: number,
  { since, until, kinds, advertiserIds, lastPosition }: Replay & { readonly lastPosition: Position },
  after: PageEnd | undefined,
  rowsMax: number,
): Promise<ReplayedPage> => {
  const { rows } = await pool.query<Row>({
    name: 'notifications-replayed',
    text: `select position, idx, id, kind, resource_type as "resourceType", resource_id as "resourceId",
             advertiser_id as "advertiserId", occurred_at as "occurredAt", revision, changed, path,
             occurred_at >= $5::timestamptz and occurred_at < $6::timestamptz and kind = any($7::text[])
               and ($8::int[] is null or coalesce(advertiser_id = any($8::int[]), false)) as "isWanted"
           from notifications
           where customer_id = $1 and (position, idx) > ($2, $3::smallint) and position <= $4
           order by position, idx limit $9`,
    values: [
      customerId,
      after?.['position'] ?? START,
      after?.['idx'] ?? 0,
      lastPosition,
      since,
      until,
      kinds,
      advertiserIds,
      rowsMax,
    ],
  });
  const last = rows.at(-1);
  return {
    notifications: rows.filter(({ isWanted }) => isWanted).map(notificationOf),
    end: last === undefined || rows.length < rowsMax ? undefined : { position: last.position, idx: last.idx },
  };
};

const notificationOf = ({
  path,
  advertiserId,
  occurredAt,
  revision,
  isWanted: _wanted,
  idx: _idx,
  ...row
}: Row): KeptNotification & { readonly position: Position } => ({
  ...row,
  path: path ?? undefined,
  advertiserId: advertiserId ?? undefined,
  occurredAt: occurredAt.toISOString(),
  revision: Number(revision),
});
