import { EventStoreUnavailableError } from './event-store/event-store.ts';
import { isPostgresUnavailable } from './postgres/unavailable.ts';
import { ObjectStoreUnavailableError } from './storage/object-store.ts';

/** A store that could not be asked, or did not answer. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof EventStoreUnavailableError ||
  error instanceof ObjectStoreUnavailableError ||
  isPostgresUnavailable(error);
