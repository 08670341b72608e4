import type { EventType } from '../event-sources/event-type.ts';
import type {
  ConversionsLogged,
  ConversionsLoggedEvent,
  Dictionary,
  Health,
  MoreMembers,
} from './conversion-events.ts';
import type { ItemColumns, Rejection } from './validate-items.ts';

/** What is the same in every piece of one call. */
export interface CallFacts {
  readonly advertiserId: number;
  readonly rejected: readonly Rejection[];
  readonly allowedTypes?: readonly EventType[] | undefined;
  readonly health: Health;
  /** The time that the items were judged by. */
  readonly occurredAt: string;
}

/**
 * UTF-8 bytes of one event's data at most. EventStoreDB up to version 25.0 takes 1 MiB with everything around it
 * (`append-in-chunks.ts`).
 */
const CHUNK_BYTES_MAX = 880_000;
/** The members that every piece has, with the longest reason and every event type. */
const FRAME_BYTES = 4_096;
/** Time, value, three dictionary indexes, commas. */
const ITEM_NUMBERS_BYTES = 64;

const PLAIN = /^[ !#-[\]-~]*$/;

/** At least as many bytes as the text takes as JSON in UTF-8; exact for plain ASCII. */
const jsonBytes = (text: string | undefined): number =>
  text === undefined ? 0 : PLAIN.test(text) ? text.length + 3 : 6 * text.length + 3;

const ASCII = /^[ -~]*$/;

/** Of text that is JSON already. */
const writtenBytes = (json: string): number => (ASCII.test(json) ? json.length : 3 * json.length);

/** Of an item's identifiers when they are sealed, beyond twice what they take in clear. */
const SEAL_BYTES = 64;

const moreBytes = (more: MoreMembers): number => {
  const bytes = writtenBytes(JSON.stringify(more));
  return more.userMatch === undefined ? bytes : 2 * bytes + SEAL_BYTES;
};

const itemBytes = (items: ItemColumns, item: number): number => {
  const more = items.more[item];
  return (
    ITEM_NUMBERS_BYTES +
    jsonBytes(items.eventIds[item]) +
    jsonBytes(items.customEventNames[item]) +
    (more === undefined ? 0 : moreBytes(more))
  );
};

/** An event, and how many bytes of UTF-8 its data has at most. */
export interface SizedEvent {
  readonly event: ConversionsLoggedEvent;
  readonly bytesMax: number;
}

/**
 * The events that log `accepted` of a call's items: as few as their size allows, one without items when something
 * was refused and nothing is new, none when there is nothing to say.
 * @param firstChunk pieces of the call that are in the stream already
 */
export const chunkItems = (
  items: ItemColumns,
  accepted: readonly number[],
  facts: CallFacts,
  firstChunk: number,
  bytesMax = CHUNK_BYTES_MAX,
): readonly SizedEvent[] => {
  if (accepted.length === 0 && facts.rejected.length === 0 && firstChunk === 0) return [];
  const pieces: { readonly items: readonly number[]; readonly bytes: number }[] = [];
  let from = 0;
  let bytes = FRAME_BYTES;
  for (let at = 0; at < accepted.length; at += 1) {
    const own = itemBytes(items, accepted[at] as number);
    if (bytes + own > bytesMax && at > from) {
      pieces.push({ items: accepted.slice(from, at), bytes });
      from = at;
      bytes = FRAME_BYTES;
    }
    bytes += own;
  }
  pieces.push({ items: from === 0 ? accepted : accepted.slice(from), bytes });
  return pieces.map((piece, index) => ({
    event: {
      type: 'ConversionsLogged',
      data: {
        advertiserId: facts.advertiserId,
        chunk: firstChunk + index,
        last: index === pieces.length - 1,
        rejected: facts.rejected.length,
        ...(facts.rejected[0] === undefined ? {} : { firstReason: facts.rejected[0].reason }),
        ...(facts.allowedTypes === undefined ? {} : { allowedTypes: [...facts.allowedTypes] }),
        health: facts.health,
        ...columnsOf(items, piece.items),
      },
      occurredAt: facts.occurredAt,
    },
    bytesMax: piece.bytes,
  }));
};

type Columns = Pick<
  ConversionsLogged,
  'eventIds' | 'eventTimes' | 'eventTypes' | 'values' | 'currencies' | 'customEventNames' | 'more'
>;

const columnsOf = (items: ItemColumns, piece: readonly number[]): Columns => {
  const values = piece.map((item) => items.values[item] ?? null);
  const currencies = dictionaryOf(items.currencies, piece);
  const customEventNames = dictionaryOf(items.customEventNames, piece);
  const more = moreOf(items.more, piece);
  const eventTypes = dictionaryOf(items.eventTypes, piece) ?? { of: [] };
  return {
    eventIds: piece.map((item) => items.eventIds[item] as string),
    eventTimes: piece.map((item) => items.times[item] as number),
    eventTypes,
    ...(values.some((value) => value !== null) ? { values } : {}),
    ...(currencies === undefined ? {} : { currencies }),
    ...(customEventNames === undefined ? {} : { customEventNames }),
    ...(more.length === 0 ? {} : { more }),
  };
};

/** Undefined when no item of the piece has an entry. */
const dictionaryOf = <Text extends string>(
  column: readonly (Text | undefined)[],
  piece: readonly number[],
): (Dictionary & { of: Text[] }) | undefined => {
  const places = new Map<Text, number>();
  const indexes: number[] = [];
  let areAllFirst = true;
  for (const item of piece) {
    const text = column[item];
    let place = -1;
    if (text !== undefined) {
      place = places.get(text) ?? places.size;
      if (place === places.size) places.set(text, place);
    }
    if (place !== 0) areAllFirst = false;
    indexes.push(place);
  }
  if (places.size === 0) return undefined;
  return { of: [...places.keys()], ...(areAllFirst ? {} : { indexes }) };
};

const moreOf = (
  column: readonly (MoreMembers | undefined)[],
  piece: readonly number[],
): [number, MoreMembers][] => {
  const pairs: [number, MoreMembers][] = [];
  piece.forEach((item, place) => {
    const members = column[item];
    if (members !== undefined) pairs.push([place, members]);
  });
  return pairs;
};
