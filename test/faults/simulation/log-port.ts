import {
  AppendOutcomeUnknownError,
  EventStoreUnavailableError,
  type EventStore,
  type RecordedEvent,
} from '../../../shared/event-store/event-store.ts';
import type { Process, World } from './world.ts';

const refused = (): Error => new EventStoreUnavailableError('refused');

/** The log as one process uses it: each append and each read is one step. */
export const createLogPort = (world: World, process: Process, log: EventStore): EventStore => ({
  ...log,
  append: async (stream, events, expected, { mayBeRepeat = async () => true } = {}) => {
    const result = await world.call({
      process,
      label: `append to ${stream} at ${expected}`,
      run: () => log.append(stream, events, expected),
      refused,
      unknown: () => new AppendOutcomeUnknownError('no answer'),
      mayLandLate: true,
    });
    // Like a store that cannot detect a repeat without a read: it asks its caller first.
    return { ...result, repeated: result.repeated && (await mayBeRepeat()) };
  },
  readStream: async function* (stream, options) {
    yield* await world.call({
      process,
      label: `read ${stream}`,
      run: async () => collect(log.readStream(stream, options)),
      refused,
      unknown: refused,
    });
  },
});

const collect = async (events: AsyncIterable<RecordedEvent>): Promise<readonly RecordedEvent[]> => {
  const collected: RecordedEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
};
