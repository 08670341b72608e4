import { DEFAULT_EVENT_TYPE, type EventType } from '../event-sources/event-type.ts';
import type { ConversionsLogged, ConversionsLoggedEvent, Dictionary, Health, MoreMembers } from './events.ts';
import type { Rejection, SentItem, ValidItems } from './validate-items.ts';

export interface CallFacts {
  readonly advertiserId: number;
  readonly rejected: readonly Rejection[];
  readonly allowedTypes?: readonly EventType[] | undefined;
  readonly health: Health;
  /** Undefined if `health` is that of the last event in the stream. */
  readonly healthChange: ConversionsLogged['healthChange'];
  readonly occurredAt: string;
}

/** UTF-8 bytes. EventStoreDB up to 25.0 accepts 1 MiB, metadata included (`append-in-chunks.ts`). */
const CHUNK_BYTES_MAX = 880_000;
const FRAME_BYTES = 4_096;
const ITEM_NUMBERS_BYTES = 64;

const PLAIN = /^[ !#-[\]-~]*$/;

/** Upper bound of the text's bytes as JSON in UTF-8; exact for plain ASCII. */
const jsonBytes = (text: string | undefined): number =>
  text === undefined ? 0 : PLAIN.test(text) ? text.length + 3 : 6 * text.length + 3;

const ASCII = /^[ -~]*$/;

const writtenBytes = (json: string): number => (ASCII.test(json) ? json.length : 3 * json.length);

/** Extra bytes of an item's encrypted identifiers, beyond twice their plain size. */
const SEAL_BYTES = 64;

const moreBytes = (more: MoreMembers): number => {
  const bytes = writtenBytes(JSON.stringify(more));
  return more.userMatch === undefined ? bytes : 2 * bytes + SEAL_BYTES;
};

const itemBytes = (items: ValidItems, item: number): number => {
  const { eventId, customEventName } = items.sent[item] as SentItem;
  const more = items.more.get(item);
  return (
    ITEM_NUMBERS_BYTES +
    jsonBytes(eventId) +
    jsonBytes(customEventName) +
    (more === undefined ? 0 : moreBytes(more))
  );
};

export interface SizedEvent {
  readonly event: ConversionsLoggedEvent;
  readonly bytesMax: number;
}

/** One event without items if all were rejected. @param firstChunk the call's chunks already in the stream */
export const chunkItems = (
  items: ValidItems,
  accepted: readonly number[],
  facts: CallFacts,
  firstChunk: number,
  bytesMax = CHUNK_BYTES_MAX,
): readonly SizedEvent[] => {
  if (accepted.length === 0 && facts.rejected.length === 0 && firstChunk === 0) return [];
  const chunks: { readonly items: readonly number[]; readonly bytes: number }[] = [];
  let from = 0;
  let bytes = FRAME_BYTES + jsonBytes(facts.healthChange?.eventSourceId);
  for (let at = 0; at < accepted.length; at += 1) {
    const own = itemBytes(items, accepted[at] as number);
    if (bytes + own > bytesMax && at > from) {
      chunks.push({ items: accepted.slice(from, at), bytes });
      from = at;
      bytes = FRAME_BYTES;
    }
    bytes += own;
  }
  chunks.push({ items: from === 0 ? accepted : accepted.slice(from), bytes });
  return chunks.map((chunk, index) => ({
    event: {
      type: 'ConversionsLogged',
      data: {
        advertiserId: facts.advertiserId,
        chunk: firstChunk + index,
        last: index === chunks.length - 1,
        rejected: facts.rejected.length,
        ...(facts.rejected[0] === undefined ? {} : { firstReason: facts.rejected[0].reason }),
        ...(index < chunks.length - 1 || facts.rejected.length === 0
          ? {}
          : { reasons: reasonsOf(facts.rejected) }),
        ...(facts.allowedTypes === undefined ? {} : { allowedTypes: [...facts.allowedTypes] }),
        health: facts.health,
        ...(index > 0 || facts.healthChange === undefined ? {} : { healthChange: facts.healthChange }),
        ...columnsOf(items, chunk.items),
      },
      occurredAt: facts.occurredAt,
    },
    bytesMax: chunk.bytes,
  }));
};

/** The rest counts as one more reason, so that an event stays small. */
const REASONS_MAX = 20;
const OTHER_REASONS = 'other reasons';

const reasonsOf = (rejected: readonly Rejection[]): [string, number][] => {
  const counts = new Map<string, number>();
  for (const { reason } of rejected) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const reasons = [...counts].sort(([, one], [, other]) => other - one);
  const rest = reasons.splice(REASONS_MAX).reduce((sum, [, count]) => sum + count, 0);
  return rest === 0 ? reasons : [...reasons, [OTHER_REASONS, rest]];
};

type Columns = Pick<
  ConversionsLogged,
  'eventIds' | 'eventTimes' | 'eventTypes' | 'values' | 'currencies' | 'customEventNames' | 'more'
>;

const columnsOf = (items: ValidItems, chunk: readonly number[]): Columns => {
  const sent = chunk.map((item) => items.sent[item] as SentItem);
  const values = sent.map(({ value }) => value ?? null);
  const currencies = dictionaryOf(sent, ({ currency }) => currency);
  const customEventNames = dictionaryOf(sent, ({ customEventName }) => customEventName);
  const more = moreOf(items.more, chunk);
  const eventTypes = dictionaryOf(sent, ({ eventType = DEFAULT_EVENT_TYPE }) => eventType) ?? { of: [] };
  return {
    eventIds: sent.map(({ eventId }) => eventId),
    eventTimes: chunk.map((item) => items.times[item] as number),
    eventTypes,
    ...(values.some((value) => value !== null) ? { values } : {}),
    ...(currencies === undefined ? {} : { currencies }),
    ...(customEventNames === undefined ? {} : { customEventNames }),
    ...(more.length === 0 ? {} : { more }),
  };
};

const dictionaryOf = <Text extends string>(
  sent: readonly SentItem[],
  textOf: (item: SentItem) => Text | undefined,
): (Dictionary & { of: Text[] }) | undefined => {
  const texts = new Set(sent.map(textOf));
  const hasGaps = texts.delete(undefined);
  if (texts.size === 0) return undefined;
  const of = [...texts] as Text[];
  if (of.length === 1 && !hasGaps) return { of };
  const places = new Map<Text | undefined, number>(of.map((text, place) => [text, place]));
  return { of, indexes: sent.map((item) => places.get(textOf(item)) ?? -1) };
};

const moreOf = (all: ValidItems['more'], chunk: readonly number[]): [number, MoreMembers][] => {
  const pairs: [number, MoreMembers][] = [];
  chunk.forEach((item, place) => {
    const members = all.get(item);
    if (members !== undefined) pairs.push([place, members]);
  });
  return pairs;
};
