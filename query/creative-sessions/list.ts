import type { ListPlace } from '../resources/list-cursor.ts';
import { type CreativeSessionResource, sessionIdOf } from '../../domain/creative-sessions/resource.ts';
import { boundTo, type TenantDatabase } from '../../shared/postgres/tenant-database.ts';
import {
  freshnessColumns,
  freshnessOfBothSql,
  type Freshness,
} from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import type { ProjectionProgress } from '../../shared/follow-log/projection-progress.ts';

export interface SessionListReads {
  readonly database: TenantDatabase;
  readonly progress: ProjectionProgress;
}

export const CREATIVE_SESSIONS = { readModel: 'creative-sessions', table: 'creative_sessions' } as const;

export interface SessionPage {
  readonly sessions: readonly CreativeSessionResource[];
  readonly next: ListPlace | undefined;
}

interface ListRow extends Freshness {
  readonly known: boolean;
  readonly items: string;
}

/** With and without a start, for a plan each. `updated_at <=` bounds the scan; the rest filters ties. */
export const listSessionsQuery = (
  customerId: number,
  campaignId: string,
  after: ListPlace | undefined,
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
    values: [
      customerId,
      readModel,
      'campaigns',
      campaignId,
      limit + 1,
      ...(after === undefined ? [] : [after.at, after.id]),
    ],
  };
};

/**
 * A client sees every unchanged session exactly once: a session's time never decreases, so a change only
 * moves it to earlier pages. A new or changed session may be missed.
 * @param campaignId UUID
 * @returns last changed first; undefined if the campaign does not exist
 * @throws ReadModelBehindError
 */
export const listSessions = async (
  { database, progress }: SessionListReads,
  customerId: number,
  campaignId: string,
  after: ListPlace | undefined,
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
  return { sessions, next: last && { at: last.updatedAt, id: sessionIdOf(last.id) ?? '' } };
};
