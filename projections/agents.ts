import type { ClientBase } from 'pg';
import { z } from 'zod';
import type { Agent } from '../domain/agents/resource.ts';
import { agentFold, type AgentState } from '../domain/agents/agent.ts';
import { AGENT_CHECK } from '../domain/agents/work.ts';
import { byStream } from './engine/fold-streams.ts';
import type { RecordedEvent } from '../shared/event-store/event-store.ts';
import { requestWork, removeWork, type WorkRequest } from '../shared/work-list/request-work.ts';
import type { Projection } from './engine/projection.ts';
import { applyFolded, UUID_STREAM, type FoldedTable } from './folded-rows.ts';

const table: FoldedTable<AgentState, Agent> = {
  ...agentFold,
  table: 'adcp_agents',
  live: (state) => (state.status === 'NONE' ? undefined : state),
  place: ({ customerId, agentId }) => ({ customerId, id: agentId }),
  columns: [
    // The status that lists filter by: they show unreachable agents, too.
    { name: 'status', type: 'text', value: ({ status }) => (status === 'REMOVED' ? status : 'ACTIVE') },
    { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt, isFixed: true },
  ],
};

export const agentsProjection: Projection = {
  name: 'agents',
  categories: [table.category],
  tables: [table.table],
  work: [AGENT_CHECK],
  apply: async (client, events, purpose) => {
    await applyFolded(client, table, events);
    if (purpose !== 'rows') await schedule(client, events);
  },
};

const Unreachable = z.object({ nextCheckAt: z.string().optional() });

/** Only a stream's last event decides about checks. */
const checkOf = ([stream, events]: readonly [string, readonly RecordedEvent[]]): readonly WorkRequest[] => {
  const [, customerId, key] = UUID_STREAM.exec(stream) ?? [];
  const last = events.at(-1);
  if (customerId === undefined || key === undefined || last === undefined) return [];
  const dueAt = last.type === 'AgentUnreachable' ? Unreachable.parse(last.data).nextCheckAt : undefined;
  return [{ customerId: Number(customerId), key, revision: last.revision, dueAt }];
};

const schedule = async (client: ClientBase, events: readonly RecordedEvent[]): Promise<void> => {
  if (events.every(({ type }) => type === 'AgentRegistered')) return;
  const checks = [...byStream(events)].flatMap(checkOf);
  await requestWork(
    client,
    AGENT_CHECK,
    checks.filter(({ dueAt }) => dueAt !== undefined),
  );
  await removeWork(
    client,
    AGENT_CHECK,
    checks.filter(({ dueAt }) => dueAt === undefined),
  );
};
