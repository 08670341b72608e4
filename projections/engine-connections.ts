import { engineConnectionFold } from '../domain/engines/engine-connection.ts';
import { foldedReadModel } from './folded-read-model.ts';

export const engineConnectionsProjection = foldedReadModel({
  ...engineConnectionFold,
  name: 'engine-connections',
  table: 'engine_connections',
  live: (state) => (state.status === 'none' ? undefined : state),
  place: ({ customerId, slotId }) => ({ customerId, id: slotId }),
  columns: [
    { name: 'status', type: 'text', value: ({ status }) => status },
    { name: 'secret_id', type: 'uuid', value: ({ secretId }) => secretId },
  ],
});
