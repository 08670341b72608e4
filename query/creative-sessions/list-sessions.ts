import type { SessionPlace } from '../resources/session-cursor.ts';
import {
  type CreativeSessionResource,
  sessionIdOf,
} from '../../domain/creative-sessions/creative-session-resource.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  type Freshness,
} from '../../shared/follow-log/account-mark.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';

export interface SessionListReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

export const CREATIVE_SESSIONS = { readModel: 'creative-sessions', table: 'creative_sessions' } as const;

export interface SessionPage {
  readonly sessions: readonly CreativeSessionResource[];
  /** Of the last one; undefined when nothing follows. */
  readonly next: SessionPlace | undefined;
}

interface ListRow extends Freshness {
  readonly known: boolean;
  readonly items: string;
}

/**
 * The query of a page, in two variants so that each has its plan. What follows a place is written so that the index
 * leads to it: `updated_at <=` bounds the scan, the rest sorts out the sessions of that very millisecond.
 */
export const listSessionsQuery = (
  customerId: number,
  campaignId: string,
  after: SessionPlace | undefined,
  limit: number,
) => {
  const { readModel, table } = CREATIVE_SESSIONS;
  const follows =
    after === undefined
      ? ''
      : `and s.updated_at <= $6::timestamptz and (s.updated_at < $6::timestamptz or s.id > $7::uuid)`;
  return {
    name: `list-creative-sessions${after === undefined ? '' : '-after'}`,
    text: `select ${freshnessColumns('f')}, page.items,
             exists (select from campaigns c where c.customer_id = $1 and c.id = $4) as known
           from ${freshnessOfBothSql('$1', '$2', '$3')} f, lateral (
             select coalesce('[' || string_agg(p.item, ',' order by p.updated_at desc, p.id) || ']', '[]') as items
             from (select s.item, s.updated_at, s.id from ${table} s
                   where s.customer_id = $1 and s.campaign_id = $4 ${follows}
                   order by s.updated_at desc, s.id limit $5) p
           ) page`,
    // One more than asked for says whether anything follows.
    values: [
      customerId,
      readModel,
      'campaigns',
      campaignId,
      limit + 1,
      ...(after === undefined ? [] : [after.updatedAt, after.id]),
    ],
  };
};

/**
 * One page of a campaign's sessions, those that changed last first; undefined when there is no such campaign.
 *
 * A walk from the first page to the last shows every session that does not change meanwhile exactly once, and none
 * twice: the times of a session never fall, so a change can only move it to before the place where the walk is. One
 * that changes before the walk has come to it may be missed, as is one that is new.
 * @param campaignId UUID
 * @throws ReadModelBehindError
 */
export const listSessions = async (
  { database, progress }: SessionListReads,
  customerId: number,
  campaignId: string,
  after: SessionPlace | undefined,
  limit: number,
): Promise<SessionPage | undefined> => {
  const { known, items } = await consistentRead<ListRow>({
    pool: boundTo(database, customerId),
    projection: CREATIVE_SESSIONS.readModel,
    progress,
    query: listSessionsQuery(customerId, campaignId, after, limit),
  });
  if (!known) return undefined;
  const found = JSON.parse(items) as readonly CreativeSessionResource[];
  const sessions = found.slice(0, limit);
  const last = found.length > limit ? sessions.at(-1) : undefined;
  return { sessions, next: last && { updatedAt: last.updatedAt, id: sessionIdOf(last.id) ?? '' } };
};
