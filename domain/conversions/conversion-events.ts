import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { EventType } from '../event-sources/event-type.ts';
import { SealedItems } from '../encrypted-items.ts';

/** Category of the streams: their names begin with it. */
export const CONVERSIONS = 'conversions';

/** The stream of one source's conversion events; the account is part of its name. */
export const conversionStream = (customerId: number, sourceId: string): string =>
  `${CONVERSIONS}-${customerId}-${sourceId}`;

export const isConversionStream = (stream: string): boolean => stream.startsWith(`${CONVERSIONS}-`);

/** The account and the source of a stream's name; undefined for any other name. */
export const sourceOfStream = (
  stream: string,
): { readonly customerId: number; readonly sourceId: string } | undefined => {
  const match = /^conversions-([1-9]\d*)-([0-9a-f-]{36})$/.exec(stream);
  return match === null ? undefined : { customerId: Number(match[1]), sourceId: match[2] ?? '' };
};

export const Health = z.enum(['not_seen', 'receiving', 'needs_attention']);
export type Health = z.infer<typeof Health>;

const Indexes = z.array(z.int());

/** Few different texts for many items: `of[indexes[i]]` is the i-th item's; without indexes all have the first. */
const Dictionary = z.object({ of: z.array(z.string()), indexes: Indexes.optional() });

export const UserMatch = z.object({
  hashedEmail: z.string().optional(),
  hashedPhone: z.string().optional(),
  uids: z.array(z.object({ type: z.string(), value: z.string() })).optional(),
  clickId: z.string().optional(),
  clickIdType: z.string().optional(),
});

/** Members that few items have. */
export const MoreMembers = z.object({
  userMatch: UserMatch.optional(),
  actionSource: z.string().optional(),
  eventSourceUrl: z.string().optional(),
  orderId: z.string().optional(),
  contentIds: z.array(z.string()).optional(),
});

/**
 * A piece of what one call logged, in columns: the i-th entry of each is the i-th item's. A call of many items is
 * several of these, at consecutive revisions unless its decision was interrupted; the last one says so.
 * `occurredAt` is the time that the call's items were judged by.
 */
const ConversionsLogged = z.object({
  advertiserId: z.int(),
  /** Of the call's events, from 0. */
  chunk: z.int(),
  /** The call is logged completely. */
  last: z.boolean(),
  /** Items of the call that were refused, and what the first was refused for. */
  rejected: z.int(),
  firstReason: z.string().optional(),
  /** Event types that the source took, when it did not take all: what else was refused follows from it. */
  allowedTypes: z.array(EventType).optional(),
  /** Of the source, after the call. */
  health: Health,
  eventIds: z.array(z.string()),
  /** Milliseconds since the epoch. */
  eventTimes: z.array(z.number()),
  eventTypes: z.object({ of: z.array(EventType), indexes: Indexes.optional() }),
  /** Null where an item has none; absent when no item has one. */
  values: z.array(z.number().nullable()).optional(),
  /** Index -1 where an item has none; absent when no item has one. */
  currencies: Dictionary.optional(),
  customEventNames: Dictionary.optional(),
  /** Pairs of an item's place and its further members. */
  more: z.array(z.tuple([z.int(), MoreMembers])).optional(),
  /** From version 2 on: `userMatch` of the items that have one, and with it `orderId` and `eventSourceUrl`. */
  sealed: SealedItems.optional(),
});

const isEach = (value: unknown, isOne: (item: unknown) => boolean): value is readonly unknown[] => {
  if (!Array.isArray(value)) return false;
  for (let at = 0; at < value.length; at += 1) if (!isOne(value[at])) return false;
  return true;
};

const isText = (value: unknown): boolean => typeof value === 'string';
const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);
const isNumberOrNull = (value: unknown): boolean => value === null || isNumber(value);
const eventTypes: ReadonlySet<unknown> = new Set(EventType.options);
const isEventType = (value: unknown): boolean => eventTypes.has(value);

const isDictionary = (value: unknown, isOne: (item: unknown) => boolean): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  const { of, indexes } = value as Readonly<Record<string, unknown>>;
  return isEach(of, isOne) && (indexes === undefined || isEach(indexes, Number.isSafeInteger));
};

/** What an event says besides its columns. */
const Facts = ConversionsLogged.pick({
  advertiserId: true,
  chunk: true,
  last: true,
  rejected: true,
  firstReason: true,
  allowedTypes: true,
  health: true,
});

/**
 * Whether the schema takes the data as they are, said of the usual event without making a copy of its columns; false
 * may mean either.
 */
const isPlain = (data: unknown): boolean => {
  if (typeof data !== 'object' || data === null) return false;
  const {
    eventIds,
    eventTimes,
    eventTypes: types,
    values,
    currencies,
    customEventNames,
    more,
  } = data as Readonly<Record<string, unknown>>;
  return (
    more === undefined &&
    isEach(eventIds, isText) &&
    isEach(eventTimes, isNumber) &&
    isDictionary(types, isEventType) &&
    (values === undefined || isEach(values, isNumberOrNull)) &&
    (currencies === undefined || isDictionary(currencies, isText)) &&
    (customEventNames === undefined || isDictionary(customEventNames, isText)) &&
    Facts.safeParse(data).success
  );
};

const unchanged = <Data>(data: Data): Data => data;

/** Schema and current version of every event that a source's stream of conversions can hold. */
export const conversionEvents = {
  ConversionsLogged: {
    schemaVersion: 3,
    data: ConversionsLogged,
    isPlain,
    // Version 1 had in `more` what is sealed now; version 2 had three event types fewer.
    upcasters: [unchanged, unchanged],
  },
} as const;

export type ConversionsLogged = z.infer<typeof ConversionsLogged>;
export type ConversionsLoggedEvent = EventsOf<typeof conversionEvents>;
export type MoreMembers = z.infer<typeof MoreMembers>;
export type UserMatch = z.infer<typeof UserMatch>;
export type Dictionary = z.infer<typeof Dictionary>;

/** The event type of a logged item. */
export const typeAt = ({ eventTypes: { of, indexes } }: ConversionsLogged, item: number): EventType =>
  of[indexes === undefined ? 0 : (indexes[item] ?? 0)] as EventType;

/** An item's entry in a dictionary of members that it may lack. */
export const entryAt = (dictionary: Dictionary | undefined, item: number): string | undefined =>
  dictionary?.of[dictionary.indexes === undefined ? 0 : (dictionary.indexes[item] ?? -1)];
