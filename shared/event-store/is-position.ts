import { START, type EventStore, type Position } from './event-store.ts';

/** Whether a text is one that an event of the store's log can have: whoever was given positions may send back anything. */
export const isPosition = (store: Pick<EventStore, 'distance'>, text: string): text is Position => {
  try {
    return store.distance(START, text as Position) > 0;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
};
