import type { ClientBase } from 'pg';
import { audienceEvents, type AudienceEvent } from '../domain/audiences/audience-events.ts';
import {
  AUDIENCE,
  AUDIENCE_BATCH,
  evolve,
  initialState,
  type AudienceState,
} from '../domain/audiences/audience.ts';
import { TASK, taskEvents, type TaskEvent } from '../domain/tasks/task.ts';
import { categoryOf, type RecordedEvent } from '../shared/event-store/event-store.ts';
import { applyMembers, keepSize, storePart } from './audience-members.ts';
import { decodeEvent } from './engine/decode-event.ts';
import type { Projection } from './engine/projection.ts';
import { applyToRows, type KeyedResources } from './keyed-resources.ts';

const audiences: KeyedResources<AudienceState, AudienceEvent> = {
  name: 'audiences',
  table: 'audiences',
  category: AUDIENCE,
  events: audienceEvents,
  initialState,
  evolve,
  identify: (state) => (state.status === 'NONE' ? undefined : { ...state, id: state.audienceId }),
};

/**
 * The read model behind an advertiser's audiences: their members, for delivery, and the tasks of their syncs. All in
 * one, because a task is done when everything before it in the log is in these tables.
 */
export const audiencesProjection: Projection = {
  name: audiences.name,
  categories: [AUDIENCE, AUDIENCE_BATCH, TASK],
  tables: [
    'audiences',
    'audience_sizes',
    'audience_members',
    'audience_removals',
    'audience_batches',
    'tasks',
  ],
  // Older ones are purged by the clock (`command/audiences/purge-removals.ts`), or are about to be.
  compared: {
    audience_removals: { where: `removed_at > now() - interval '6 days 23 hours'` },
    // How many there were stays as it was when some of them are forgotten; the log has only the others then.
    audience_sizes: {
      where: 'not exists (select from forgettings f where f.customer_id = audience_sizes.customer_id)',
    },
  },
  apply: async (client, events) => {
    const of = (category: string): readonly RecordedEvent[] =>
      events.filter(({ stream }) => categoryOf(stream) === category);
    for (const event of of(AUDIENCE_BATCH)) await storePart(client, event);
    for (const event of await applyToRows(client, audiences, of(AUDIENCE))) {
      await applyMembers(client, event);
      await keepSize(client, event);
    }
    for (const event of of(TASK)) await finishTask(client, event);
  },
};

const TASK_DAYS = 30;

const finishTask = async (client: ClientBase, event: RecordedEvent): Promise<void> => {
  const { data } = decodeEvent(event, taskEvents) as TaskEvent;
  const { customerId, occurredAt } = event.metadata;
  await client.query({
    name: 'tasks-insert',
    text: `insert into tasks (customer_id, task_id, accepted_at, body) values ($1, $2, $3, $4) on conflict do nothing`,
    values: [customerId, data.taskId, occurredAt, JSON.stringify(data)],
  });
  await client.query({
    name: 'tasks-purge',
    text: `delete from tasks
           where customer_id = $1 and accepted_at < $2::timestamptz - make_interval(days => $3)`,
    values: [customerId, occurredAt, TASK_DAYS],
  });
};
