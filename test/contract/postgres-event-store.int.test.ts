import { eventStoreContract } from './event-store.contract.ts';
import { makePostgresStore } from './make-postgres-store.ts';

eventStoreContract('postgres', makePostgresStore);
