import type { ClientBase } from 'pg';
import { ADVERTISER } from '../domain/advertisers/advertiser.ts';
import { AUDIENCE } from '../domain/audiences/audience.ts';
import { CATALOG } from '../domain/catalogs/catalog.ts';
import { EVENT_SOURCE } from '../domain/event-sources/event-source.ts';
import { syndicationEvents } from '../domain/syndication/events.ts';
import type { ResourceType, SyndicationRecord } from '../domain/syndication/resource.ts';
import { isWaiting, wasLeftThere } from '../domain/syndication/syndication-states.ts';
import { isSyndicatedChange } from '../domain/syndication/events.ts';
import {
  evolve,
  initialState,
  SYNDICATION,
  type SyndicationState,
} from '../domain/syndication/syndication.ts';
import { SYNDICATION_WORK } from '../domain/syndication/work.ts';
import { categoryOf, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { resourceIdOf } from '../shared/aggregate/ids.ts';
import { boolArray, int8Array, uuidArray } from '../shared/postgres/binary-array.ts';
import { requestWork, removeWork, type WorkRequest } from '../shared/work-list/request-work.ts';
import { nonZeroCounts, type Projection } from './engine/projection.ts';
import { applyFolded, UUID_STREAM, type FoldedTable, type RowChange } from './folded-rows.ts';
import { addCounts, countedBy, type CountTable } from './count-rows.ts';

const RESOURCES: Readonly<Record<ResourceType, string>> = {
  AUDIENCE,
  EVENT_SOURCE,
  CATALOG,
};

const resourceUuid = ({ resourceType, customerId, advertiserId, resourceId }: SyndicationRecord): string =>
  resourceIdOf(RESOURCES[resourceType], customerId, advertiserId, resourceId);

/** No reader needs these members, and rows written before them stay equal to new ones. */
const rowState = ({
  resourceRevision: _seen,
  alsoCausedBy: _others,
  ...record
}: SyndicationRecord): SyndicationRecord => record;

const table: FoldedTable<SyndicationState, SyndicationRecord> = {
  table: 'syndication_records',
  category: SYNDICATION,
  events: syndicationEvents,
  initialState,
  evolve,
  live: (state) => (state.status === 'NONE' ? undefined : rowState(state)),
  place: ({ customerId, recordId }) => ({ customerId, id: recordId }),
  columns: [
    { name: 'advertiser_id', type: 'int4', value: ({ advertiserId }) => advertiserId, isFixed: true },
    { name: 'resource_type', type: 'text', value: ({ resourceType }) => resourceType, isFixed: true },
    { name: 'resource_id', type: 'text', value: ({ resourceId }) => resourceId, isFixed: true },
    { name: 'resource_uuid', type: 'uuid', value: resourceUuid },
    { name: 'agent_id', type: 'uuid', value: ({ agentId }) => agentId, isFixed: true },
    { name: 'account', type: 'text', value: ({ account }) => JSON.stringify(account) },
    { name: 'status', type: 'text', value: ({ status }) => status },
    { name: 'waiting', type: 'boolean', value: isWaiting },
    { name: 'left_there', type: 'boolean', value: wasLeftThere },
    { name: 'generation', type: 'int4', value: ({ generation }) => generation },
    { name: 'updated_at', type: 'timestamptz', value: ({ updatedAt }) => updatedAt },
  ],
};

const counts: CountTable<SyndicationRecord> = {
  table: 'syndication_counts',
  columns: countedBy(table, 'advertiser_id', 'agent_id', 'resource_type', 'status'),
};

/** Lists waiting generations, and again records whose resource or advertiser was archived or changed. */
export const syndicationProjection: Projection = {
  name: 'syndication',
  categories: [SYNDICATION, ADVERTISER, ...Object.values(RESOURCES)],
  rowEvents: { categories: [SYNDICATION] },
  tables: [table.table, counts.table],
  work: [SYNDICATION_WORK],
  compared: { [counts.table]: nonZeroCounts },
  apply: async (client, events, purpose) => {
    if (purpose === 'rows') await applyRecords(client, events);
    else for (const some of cutBeforeSwitchOns(events)) await applySome(client, some);
  },
};

const applyRecords = async (
  client: ClientBase,
  events: readonly RecordedEvent[],
): Promise<readonly RowChange<SyndicationRecord>[]> => {
  const records = events.filter(({ stream }) => categoryOf(stream) === SYNDICATION);
  const changes = await applyFolded(client, table, records);
  await addCounts(client, counts, changes);
  return changes;
};

const applySome = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  await listWork(client, await applyRecords(client, events));
  await listArchived(
    client,
    events.filter(({ type }) => type === 'AdvertiserArchived'),
  );
  await listChanged(
    client,
    events.filter(
      ({ stream, type }) =>
        Object.values(RESOURCES).includes(categoryOf(stream)) && isSyndicatedChange({ type }),
    ),
  );
};

/**
 * Archiving affects records that are on by then. If a batch also contained later
 * switch-ons, it would see their state. So the batch is cut before them.
 */
const cutBeforeSwitchOns = (events: readonly RecordedEvent[]): readonly (readonly RecordedEvent[])[] => {
  const parts: RecordedEvent[][] = [];
  let part: RecordedEvent[] = [];
  let hasArchived = false;
  for (const event of events) {
    const isSwitchedOn = event.type === 'SyndicationToggled' && event.data['enabled'] === true;
    if (hasArchived && isSwitchedOn) {
      parts.push(part);
      part = [];
      hasArchived = false;
    }
    hasArchived ||= event.type.endsWith('Archived');
    part.push(event);
  }
  return [...parts, part];
};

/**
 * Lists a generation once, when it begins. A switch also ends an earlier entry and its `archived` flag; a
 * refresh does not: a worker may start it before it knows of an archiving.
 */
const listWork = async (
  client: ClientBase,
  changes: readonly RowChange<SyndicationRecord>[],
): Promise<void> => {
  const begun = changes.filter(({ before, after }) => before?.generation !== after.generation);
  const waiting = begun.filter(({ after }) => isWaiting(after));
  const over = begun.filter(({ after }) => !isWaiting(after));
  await requestWork(client, SYNDICATION_WORK, requestsOf(waiting.filter(isSwitched)));
  await requestWork(client, SYNDICATION_WORK, requestsOf(waiting.filter((change) => !isSwitched(change))), {
    keepsData: true,
  });
  await removeWork(client, SYNDICATION_WORK, requestsOf(over.filter(isSwitched)));
};

const isSwitched = ({ events }: RowChange<SyndicationRecord>): boolean =>
  events.some(({ type }) => type === 'SyndicationToggled');

const requestsOf = (changes: readonly RowChange<SyndicationRecord>[]): readonly WorkRequest[] =>
  changes.map(({ after: { customerId, recordId, generation } }) => ({
    customerId,
    key: recordId,
    revision: generation,
  }));

/** Due now, listed or not. The listed generation may have ended in an earlier batch. */
const LISTED_AGAIN = `on conflict (kind, customer_id, key) do update
  set revision = greatest(w.revision, excluded.revision), data = w.data || excluded.data,
    asked_at = excluded.asked_at, due_at = greatest(now(), w.not_before)`;
const REVISION = `lpad(generation::text, 16, '0')`;

const listArchived = async (client: ClientBase, archived: readonly RecordedEvent[]): Promise<void> => {
  const places = archived.flatMap(({ stream }) => {
    const [, customerId, advertiserId] = /^advertiser-(\d+)-(\d+)$/.exec(stream) ?? [];
    return customerId === undefined ? [] : [{ customerId: Number(customerId), id: Number(advertiserId) }];
  });
  for (const { customerId, id } of places) {
    let from: Page | undefined = { at: '-infinity', id: NO_RECORD };
    while (from !== undefined) from = await listArchivedPage(client, customerId, id, from);
  }
};

interface Page {
  readonly at: string;
  readonly id: string;
}

const NO_RECORD = '00000000-0000-0000-0000-000000000000';
/** An advertiser may have more records than one statement can list in its time limit. */
const ARCHIVED_AT_ONCE = 20_000;

const listArchivedPage = async (
  client: ClientBase,
  customerId: number,
  advertiserId: number,
  from: Page,
): Promise<Page | undefined> => {
  const { rows } = await client.query<Page & { count: number }>({
    name: 'work-syndication-archived',
    text: `with page as materialized (
             select id, generation, status, updated_at from syndication_records
             where customer_id = $1 and advertiser_id = $2 and (updated_at, id) > ($3::timestamptz, $4::uuid)
             order by updated_at, id limit $5
           ), listed as (
             insert into work_list as w (kind, customer_id, key, revision, data)
             select $6, $1, id, ${REVISION}, '{"archived":true}' from page where status <> 'DISABLED' order by id
             ${LISTED_AGAIN}
           )
           select updated_at::text as at, id, (count(*) over ())::int as count
           from page order by updated_at desc, id desc limit 1`,
    values: [customerId, advertiserId, from.at, from.id, ARCHIVED_AT_ONCE, SYNDICATION_WORK],
  });
  const [last] = rows;
  return last === undefined || last.count < ARCHIVED_AT_ONCE ? undefined : last;
};

/** Records of a deleted resource are switched off, even if it exists again by then. */
const listChanged = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  const changed = new Map<string, { customerId: number; id: string; isGone: boolean }>();
  for (const { stream, type } of events) {
    const [, customerId, id] = UUID_STREAM.exec(stream) ?? [];
    if (customerId === undefined || id === undefined) continue;
    const isGone = type.endsWith('Archived') || changed.get(stream)?.isGone === true;
    changed.set(stream, { customerId: Number(customerId), id, isGone });
  }
  if (changed.size === 0) return;
  const places = [...changed].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place);
  await client.query({
    name: 'work-syndication-changed',
    text: `insert into work_list as w (kind, customer_id, key, revision, data)
           select $4, r.customer_id, r.id, ${REVISION}, case when c.is_gone then '{"archived":true}'::jsonb else '{}' end
           from unnest($1::bigint[], $2::uuid[], $3::boolean[]) as c(customer_id, id, is_gone)
           join syndication_records r on r.customer_id = c.customer_id and r.resource_uuid = c.id
           where r.status <> 'DISABLED' order by r.customer_id, r.id
           ${LISTED_AGAIN}`,
    values: [
      int8Array(places.map(({ customerId }) => customerId)),
      uuidArray(places.map(({ id }) => id)),
      boolArray(places.map(({ isGone }) => isGone)),
      SYNDICATION_WORK,
    ],
  });
};
