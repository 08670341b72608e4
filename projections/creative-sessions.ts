import { creativeSessionResource } from '../domain/creative-sessions/resource.ts';
import { creativeSessionFold } from '../domain/creative-sessions/creative-session.ts';
import { foldedReadModel } from './folded-read-model.ts';

export const creativeSessionsProjection = foldedReadModel({
  ...creativeSessionFold,
  name: 'creative-sessions',
  table: 'creative_sessions',
  live: (state) => (state.status === 'none' ? undefined : state),
  place: ({ customerId, sessionId }) => ({ customerId, id: sessionId }),
  columns: [
    { name: 'campaign_id', type: 'uuid', value: ({ campaignId }) => campaignId, isFixed: true },
    { name: 'updated_at', type: 'timestamptz', value: ({ updatedAt }) => updatedAt },
    { name: 'item', type: 'text', value: (session) => JSON.stringify(creativeSessionResource(session)) },
  ],
});
