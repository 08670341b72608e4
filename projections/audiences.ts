import type { ClientBase, QueryConfig } from 'pg';
import { SIZES_KEPT_DAYS, type Audience } from '../domain/audiences/resource.ts';
import { AUDIENCE, AUDIENCE_BATCH, audienceFold, type AudienceState } from '../domain/audiences/audience.ts';
import { taskEvents, type TaskEvent } from '../domain/tasks/events.ts';
import { TASK } from '../domain/tasks/task.ts';
import { categoryOf, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { applyMembers, latestByCustomer, storeParts } from './audience-members.ts';
import { decodeEvent } from './engine/decode-event.ts';
import type { Projection } from './engine/projection.ts';
import { inPieces, sendInOrder } from './engine/send-in-order.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';
import { syncedResourceColumns } from './synced-resource-columns.ts';

const audiences: FoldedTable<AudienceState, Audience> = {
  ...audienceFold,
  table: 'audiences',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  place: ({ customerId, audienceId }) => ({ customerId, id: audienceId }),
  columns: syncedResourceColumns,
};

/** One read model with the sync tasks: a task is done when these tables contain everything before it. */
export const audiencesProjection: Projection = {
  name: 'audiences',
  categories: [AUDIENCE, AUDIENCE_BATCH, TASK],
  tables: [
    'audiences',
    'audience_sizes',
    'audience_members',
    'audience_removals',
    'audience_batches',
    'tasks',
  ],
  // The purge deletes older rows (`expired-rows.ts`); one hour of margin.
  compared: {
    audience_removals: { where: `removed_at > now() - interval '6 days 23 hours'` },
    audience_sizes: {
      instead: {
        key: ['customer_id', 'audience_id', 'revision'],
        // A rebuild gives rows older than the column another time, and counts no erased members: omits both.
        select: (table) => `select customer_id, audience_id, revision, members from ${table} s
          where (superseded_at is null or superseded_at > now() - interval '${SIZES_KEPT_DAYS - 1} days')
            and not exists (select from forgettings f where f.customer_id = s.customer_id)`,
      },
    },
  },
  apply: async (client, events) => {
    const of = (category: string): readonly RecordedEvent[] =>
      events.filter(({ stream }) => categoryOf(stream) === category);
    await storeParts(client, of(AUDIENCE_BATCH));
    const changes = await applyFolded(client, audiences, of(AUDIENCE));
    await applyMembers(
      client,
      changes.flatMap((change) => change.events),
    );
    await finishTasks(client, of(TASK));
  },
};

const TASK_DAYS = 30;

const finishTasks = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  if (events.length === 0) return;
  await sendInOrder(client, taskInserts(events));
  const latest = latestByCustomer(events);
  await client.query({
    name: 'tasks-purge',
    text: `delete from tasks t using unnest($1::bigint[], $2::text[]) as n(customer_id, at)
           where t.customer_id = n.customer_id
             and t.accepted_at < n.at::timestamptz - make_interval(days => $3)`,
    values: [int8Array([...latest.keys()]), textArray([...latest.values()]), TASK_DAYS],
  });
};

function* taskInserts(events: readonly RecordedEvent[]): Generator<QueryConfig> {
  for (const piece of inPieces(events)) {
    const bodies = piece.map((event) => (decodeEvent(event, taskEvents) as TaskEvent).data);
    yield {
      name: 'tasks-insert',
      text: `insert into tasks (customer_id, task_id, accepted_at, body)
             select customer_id, task_id, accepted_at::timestamptz, body
             from unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[])
               as n(customer_id, task_id, accepted_at, body)
             on conflict do nothing`,
      values: [
        int8Array(piece.map(({ metadata }) => metadata.customerId)),
        uuidArray(bodies.map(({ taskId }) => taskId)),
        textArray(piece.map(({ metadata }) => metadata.occurredAt)),
        textArray(bodies.map((body) => JSON.stringify(body))),
      ],
    };
  }
}
