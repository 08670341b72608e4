import {
  categoryOf,
  type EventBatch,
  type EventStore,
  type JsonObject,
  type NewEvent,
  type RecordedEvent,
} from '../event-store/event-store.ts';
import { MissingKeysError, type PersonalKeys } from './personal-keys.ts';
import { BrokenSealError, openItems, sealItems } from './sealed-items.ts';

type Part = readonly [string, ...(readonly unknown[])];

interface PartsOfType {
  readonly category: string;
  readonly sealedFrom: number;
  readonly isOpened: boolean;
  readonly split: (data: JsonObject) => {
    readonly rest: Readonly<Record<string, unknown>>;
    readonly parts: readonly Part[];
  };
  readonly join: (rest: JsonObject, parts: readonly Part[]) => Readonly<Record<string, unknown>>;
}

export type PartsByType = Readonly<Record<string, PartsOfType>>;

interface SealedParts {
  readonly keys: string;
  readonly items: string;
}

export const sealedOf = ({ data }: Pick<NewEvent, 'data'>): SealedParts | undefined => {
  const sealed = data['sealed'];
  return typeof sealed === 'object' && sealed !== null ? (sealed as unknown as SealedParts) : undefined;
};

/** A part is undefined if its key was deleted. @throws as `PersonalKeys.of`, and BrokenSealError */
export const openParts = async (
  keys: Pick<PersonalKeys, 'of'>,
  event: RecordedEvent,
): Promise<readonly (Part | undefined)[]> => {
  const sealed = sealedOf(event);
  if (sealed === undefined) return [];
  const set = await keys.of(event.metadata.customerId, sealed.keys);
  if (set === undefined) return [];
  return openItems(set, event.id, sealed.items).map((text) =>
    text === undefined ? undefined : (JSON.parse(text) as Part),
  );
};

const seal = async (keys: PersonalKeys, parts: PartsByType, event: NewEvent): Promise<NewEvent> => {
  const { sealedFrom = Infinity, split } = ofType(parts, event) ?? {};
  if (split === undefined || event.metadata.schemaVersion < sealedFrom || sealedOf(event) !== undefined) {
    return event;
  }
  const { rest, parts: texts } = split(event.data);
  if (texts.length === 0) return event;
  const set = await keys.current(event.metadata.customerId);
  const items = sealItems(
    set,
    event.id,
    texts.map((text) => JSON.stringify(text)),
  );
  return { ...event, data: { ...(rest as JsonObject), sealed: { keys: set.id, items } } };
};

const open = async (keys: PersonalKeys, parts: PartsByType, event: RecordedEvent): Promise<RecordedEvent> => {
  const type = ofType(parts, event);
  if (type?.isOpened !== true || sealedOf(event) === undefined) return event;
  const { sealed: _, ...rest } = event.data;
  try {
    const opened = (await openParts(keys, event)).filter((part) => part !== undefined);
    return { ...event, data: type.join(rest, opened) as JsonObject };
  } catch (error) {
    // The encrypted form matches no schema: the projector parks this stream, and other streams continue.
    if (error instanceof MissingKeysError || error instanceof BrokenSealError) return event;
    throw error;
  }
};

const ofType = (parts: PartsByType, { type }: Pick<NewEvent, 'type'>): PartsOfType | undefined =>
  Object.hasOwn(parts, type) ? parts[type] : undefined;

/** Upper bound for encrypted size per plain size: base64 and lengths. */
const GROWTH = 1.5;

/** Encrypts personal data on append, decrypts it on read. Only operator tools use the log without it. */
export const createSealedStore = (store: EventStore, keys: PersonalKeys, parts: PartsByType): EventStore => {
  const opened = new Set(
    Object.values(parts).flatMap(({ category, isOpened }) => (isOpened ? [category] : [])),
  );
  const has = (events: readonly NewEvent[]): boolean => events.some(({ type }) => Object.hasOwn(parts, type));
  const openAll = async (events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> => {
    if (!has(events)) return events;
    const all: RecordedEvent[] = [];
    for (const event of events) all.push(await open(keys, parts, event));
    return all;
  };
  const openEach = async function* (events: AsyncIterable<RecordedEvent>): AsyncGenerator<RecordedEvent> {
    for await (const event of events) yield await open(keys, parts, event);
  };
  return {
    appendBytesMax: Math.floor(store.appendBytesMax / GROWTH),
    append: async (stream, events, expected, options) => {
      if (!has(events)) return store.append(stream, events, expected, options);
      const sealed: NewEvent[] = [];
      for (const event of events) sealed.push(await seal(keys, parts, event));
      return store.append(stream, sealed, expected, options);
    },
    readStream: (stream, options) => {
      const events = store.readStream(stream, options);
      return opened.has(categoryOf(stream)) ? openEach(events) : events;
    },
    readAll: async (options) => openAll(await store.readAll(options)),
    subscribeToAll: async function* (options) {
      for await (const batch of store.subscribeToAll(options)) {
        yield { ...batch, events: await openAll(batch.events) } satisfies EventBatch;
      }
    },
    head: () => store.head(),
    distance: (from, to) => store.distance(from, to),
    distanceUnit: store.distanceUnit,
    ensurePositionRecorded: (customerId, position, stream) =>
      store.ensurePositionRecorded(customerId, position, stream),
    close: () => store.close(),
  };
};
