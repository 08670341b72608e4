import { creativeSessionEvents } from '../domain/creative-sessions/creative-session-events.ts';
import {
  creativeSessionResource,
  type CreativeSession,
} from '../domain/creative-sessions/creative-session-resource.ts';
import {
  CREATIVE_SESSION,
  evolve,
  initialState,
  type CreativeSessionState,
} from '../domain/creative-sessions/creative-session.ts';
import type { Projection } from './engine/projection.ts';
import { applyFolded, type FoldedTable } from './folded-rows.ts';

const table: FoldedTable<CreativeSessionState, CreativeSession> = {
  table: 'creative_sessions',
  category: CREATIVE_SESSION,
  events: creativeSessionEvents,
  initialState,
  evolve,
  live: (state) => (state.status === 'none' ? undefined : state),
  place: ({ customerId, sessionId }) => ({ customerId, id: sessionId }),
  columns: [
    { name: 'campaign_id', type: 'uuid', value: ({ campaignId }) => campaignId, isFixed: true },
    { name: 'updated_at', type: 'timestamptz', value: ({ updatedAt }) => updatedAt },
    { name: 'item', type: 'text', value: (session) => JSON.stringify(creativeSessionResource(session)) },
  ],
};

/** The read model behind creative sessions. */
export const creativeSessionsProjection: Projection = {
  name: 'creative-sessions',
  categories: [CREATIVE_SESSION],
  tables: [table.table],
  apply: async (client, events) => {
    await applyFolded(client, table, events);
  },
};
