import { z } from 'zod';
import type { EventsOf } from '../decision.ts';
import { EventType } from '../event-sources/event-type.ts';
import { SealedItems } from '../encrypted-items.ts';

export const CONVERSIONS = 'conversions';

export const conversionStream = (customerId: number, sourceId: string): string =>
  `${CONVERSIONS}-${customerId}-${sourceId}`;

export const isConversionStream = (stream: string): boolean => stream.startsWith(`${CONVERSIONS}-`);

/** @returns the account and source in a stream name; undefined for other streams */
export const sourceOfStream = (
  stream: string,
): { readonly customerId: number; readonly sourceId: string } | undefined => {
  const match = /^conversions-([1-9]\d*)-([0-9a-f-]{36})$/.exec(stream);
  return match === null ? undefined : { customerId: Number(match[1]), sourceId: match[2] ?? '' };
};

export const Health = z.enum(['not_seen', 'receiving', 'needs_attention']);
export type Health = z.infer<typeof Health>;

const Indexes = z.array(z.int());

/** Compresses columns with few different texts: item i has `of[indexes[i]]`; without indexes the first. */
const Dictionary = z.object({ of: z.array(z.string()), indexes: Indexes.optional() });

export const UserMatch = z.object({
  hashedEmail: z.string().optional(),
  hashedPhone: z.string().optional(),
  uids: z.array(z.object({ type: z.string(), value: z.string() })).optional(),
  clickId: z.string().optional(),
  clickIdType: z.string().optional(),
});

export const MoreMembers = z.object({
  userMatch: UserMatch.optional(),
  actionSource: z.string().optional(),
  eventSourceUrl: z.string().optional(),
  orderId: z.string().optional(),
  contentIds: z.array(z.string()).optional(),
});

/**
 * In columns: entry i belongs to item i. A call's chunks are consecutive unless its command was interrupted.
 * `occurredAt` is the time used for validation.
 */
const ConversionsLogged = z.object({
  advertiserId: z.int(),
  chunk: z.int(),
  last: z.boolean(),
  /** Number of rejected items of the call, and the first one's reason. */
  rejected: z.int(),
  firstReason: z.string().optional(),
  /** On the last event of a call: its rejected items by reason, the most frequent first. Absent in older events. */
  reasons: z.array(z.tuple([z.string(), z.int()])).optional(),
  /** If the source did not accept all: explains further rejections. */
  allowedTypes: z.array(EventType).optional(),
  health: Health,
  /**
   * On an event whose health differs from that of the event before it in the stream. `eventSourceId`: the buyer's key of
   * the source. Absent in events of 0.2.0.
   */
  healthChange: z.object({ before: Health, eventSourceId: z.string() }).optional(),
  eventIds: z.array(z.string()),
  /** Milliseconds since the epoch. */
  eventTimes: z.array(z.number()),
  eventTypes: z.object({ of: z.array(EventType), indexes: Indexes.optional() }),
  /** Null for items without a value; absent if no item has one. */
  values: z.array(z.number().nullable()).optional(),
  /** Index -1 for items without one; absent if no item has one. */
  currencies: Dictionary.optional(),
  customEventNames: Dictionary.optional(),
  /** Pairs of an item's index and its further members. */
  more: z.array(z.tuple([z.int(), MoreMembers])).optional(),
  /** From version 2: `userMatch`, and `orderId` and `eventSourceUrl` of the same items. */
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

const Facts = ConversionsLogged.pick({
  advertiserId: true,
  chunk: true,
  last: true,
  rejected: true,
  firstReason: true,
  reasons: true,
  allowedTypes: true,
  health: true,
  healthChange: true,
});

/** Copies no columns. True: the schema accepts the data unchanged. False may mean either. */
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

export const conversionEvents = {
  ConversionsLogged: {
    schemaVersion: 3,
    data: ConversionsLogged,
    isPlain,
    // Version 1 had the encrypted members in `more`. Version 2 had three event types fewer.
    upcasters: [unchanged, unchanged],
  },
} as const;

export type ConversionsLogged = z.infer<typeof ConversionsLogged>;
export type ConversionsLoggedEvent = EventsOf<typeof conversionEvents>;
export type MoreMembers = z.infer<typeof MoreMembers>;
export type UserMatch = z.infer<typeof UserMatch>;
export type Dictionary = z.infer<typeof Dictionary>;

export const typeAt = ({ eventTypes: { of, indexes } }: ConversionsLogged, item: number): EventType =>
  of[indexes === undefined ? 0 : (indexes[item] ?? 0)] as EventType;

export const entryAt = (dictionary: Dictionary | undefined, item: number): string | undefined =>
  dictionary?.of[dictionary.indexes === undefined ? 0 : (dictionary.indexes[item] ?? -1)];
