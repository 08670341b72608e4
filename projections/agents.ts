import type { ClientBase } from 'pg';
import { z } from 'zod';
import { agentEvents } from '../domain/agents/agent-events.ts';
import type { Agent } from '../domain/agents/agent-resource.ts';
import { AGENT, evolve, initialState, type AgentState } from '../domain/agents/agent.ts';
import { int8Array, textArray, uuidArray } from '../shared/postgres/binary-array.ts';
import { byStream } from './engine/fold-streams.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import type { Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';

const table: FoldedTable<AgentState, Agent> = {
  table: 'adcp_agents',
  category: AGENT,
  events: agentEvents,
  initialState,
  evolve,
  live: (state) => (state.status === 'NONE' ? undefined : state),
  place: ({ customerId, agentId }) => ({ customerId, id: agentId }),
  columns: [
    // What lists go by: an agent that does not answer is listed as well.
    { name: 'status', type: 'text', value: ({ status }) => (status === 'REMOVED' ? status : 'ACTIVE') },
    { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt, isFixed: true },
  ],
};

/** The read model behind an account's agents, and the list of those that are to be asked again. */
export const agentsProjection: Projection = {
  name: 'agents',
  categories: [AGENT],
  tables: [table.table, 'agent_checks'],
  workLists: ['agent_checks'],
  apply: async (client, events) => {
    await applyFolded(client, table, events);
    await schedule(client, events);
  },
};

const AGENT_STREAM = /^[^-]+-(\d+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const Unreachable = z.object({ nextCheckAt: z.string().optional() });

interface Check {
  readonly customerId: number;
  readonly id: string;
  readonly revision: number;
  readonly dueAt: string | undefined;
}

/** The last event of a stream says whether the agent is to be asked, and when. */
const checkOf = ([stream, events]: readonly [string, readonly RecordedEvent[]]): readonly Check[] => {
  const [, customerId, id] = AGENT_STREAM.exec(stream) ?? [];
  const last = events.at(-1);
  if (customerId === undefined || id === undefined || last === undefined) return [];
  const dueAt = last.type === 'AgentUnreachable' ? Unreachable.parse(last.data).nextCheckAt : undefined;
  return [{ customerId: Number(customerId), id, revision: last.revision, dueAt }];
};

const schedule = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  if (events.every(({ type }) => type === 'AgentRegistered')) return;
  const checks = [...byStream(events)].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(checkOf);
  const due = checks.filter(({ dueAt }) => dueAt !== undefined);
  const over = checks.filter(({ dueAt }) => dueAt === undefined);
  if (due.length > 0) {
    await client.query({
      name: 'agent-checks-schedule',
      text: `insert into agent_checks as c (customer_id, id, revision, due_at)
             select customer_id, id, revision, due_at::timestamptz
             from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::text[]) as due(customer_id, id, revision, due_at)
             on conflict (customer_id, id) do update set revision = excluded.revision, due_at = excluded.due_at
               where c.revision < excluded.revision`,
      values: [...keysOf(due), textArray(due.map(({ dueAt = '' }) => dueAt))],
    });
  }
  if (over.length > 0) {
    await client.query({
      name: 'agent-checks-over',
      text: `delete from agent_checks c
             using unnest($1::bigint[], $2::uuid[], $3::bigint[]) as over_(customer_id, id, revision)
             where c.customer_id = over_.customer_id and c.id = over_.id and c.revision < over_.revision`,
      values: [...keysOf(over)],
    });
  }
};

const keysOf = (checks: readonly Check[]): readonly Buffer[] => [
  int8Array(checks.map(({ customerId }) => customerId)),
  uuidArray(checks.map(({ id }) => id)),
  int8Array(checks.map(({ revision }) => revision)),
];
