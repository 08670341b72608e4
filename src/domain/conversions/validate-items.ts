import { DEFAULT_EVENT_TYPE, EventType } from '../event-sources/event-type.ts';
import type { MoreMembers } from './conversion-events.ts';
import { FINGERPRINT_WORDS, type FingerprintInto } from './fingerprint.ts';
import { hasMore, isItem, moreOf, moreProblem, textProblem } from './item-members.ts';
import { parseRfc3339 } from './rfc3339.ts';
import { currencyText, type ScannedItems } from './scan-items.ts';

/** A call's items: as JSON gives them, or read without it. */
export type SentItems = readonly unknown[] | ScannedItems;

export interface Rejection {
  /** Place in the request. */
  readonly index: number;
  readonly reason: string;
}

/** Items that passed, in columns: a batch of 10,000 makes no 10,000 objects. */
export interface ItemColumns {
  /** Place of each in the request, ascending. */
  readonly places: number[];
  readonly eventIds: string[];
  readonly eventTypes: EventType[];
  /** Milliseconds since the epoch. */
  readonly times: number[];
  readonly values: (number | null)[];
  readonly currencies: (string | undefined)[];
  readonly customEventNames: (string | undefined)[];
  readonly more: (MoreMembers | undefined)[];
  /** `FINGERPRINT_WORDS` words each. */
  readonly fingerprints: Uint32Array;
}

export interface ValidatedItems {
  readonly items: ItemColumns;
  /** Ascending by index. */
  readonly rejected: readonly Rejection[];
}

/** What items are judged by. */
export interface ItemRules {
  /** Milliseconds since the epoch: the time of the decision. */
  readonly nowMs: number;
  /** Event types that the source takes; undefined: all. */
  readonly allowedTypes?: readonly EventType[] | undefined;
  readonly fingerprintInto: FingerprintInto;
}

const DAY_MS = 86_400_000;
/** Older events are refused, so that nothing can come back after its key was forgotten. */
const EVENT_AGE_DAYS_MAX = 90;
const CURRENCY = /^[A-Z]{3}$/;
const knownTypes: ReadonlySet<unknown> = new Set(EventType.options);

/** Checks every item by itself, in one pass; one reason for each that is refused (decisions.md E14). */
export const validateItems = (sent: SentItems, rules: ItemRules): ValidatedItems => {
  const rejected: Rejection[] = [];
  const items: ItemColumns = {
    places: [],
    eventIds: [],
    eventTypes: [],
    times: [],
    values: [],
    currencies: [],
    customEventNames: [],
    more: [],
    fingerprints: new Uint32Array(FINGERPRINT_WORDS * sent.length),
  };
  const judge: Judge = { ...rules, allowed: rules.allowedTypes && new Set<unknown>(rules.allowedTypes) };
  const take = 'odd' in sent ? takerOfScanned(sent, items, judge) : takerOf(sent, items, judge);
  for (let index = 0; index < sent.length; index += 1) {
    const reason = take(index);
    if (reason !== undefined) rejected.push({ index, reason });
  }
  return { items, rejected };
};

interface Judge extends ItemRules {
  readonly allowed: ReadonlySet<unknown> | undefined;
}

/** Adds the item at a place; gives what is wrong with it instead. */
type Take = (index: number) => string | undefined;

const takerOf =
  (sent: readonly unknown[], items: ItemColumns, judge: Judge): Take =>
  (index) =>
    addItem(sent[index], index, items, judge);

const types = EventType.options;

const takerOfScanned = (sent: ScannedItems, items: ItemColumns, judge: Judge): Take => {
  const { bytes, text, odd } = sent;
  const hasOdd = odd.size > 0;
  let [lastCode, lastCurrency] = [0, ''];
  const currencyOf = (code: number): string | undefined => {
    if (code === 0) return undefined;
    if (code !== lastCode) [lastCode, lastCurrency] = [code, currencyText(code)];
    return lastCurrency;
  };
  return (index) => {
    if (hasOdd && odd.has(index)) return addItem(odd.get(index), index, items, judge);
    const eventType = types[sent.types[index] as number] as EventType;
    const timeMs = sent.times[index] as number;
    const problem = timeProblem(timeMs, judge) ?? typeProblem(eventType, judge);
    if (problem !== undefined) return problem;
    const at = sent.idAt[index] as number;
    const length = sent.idLength[index] as number;
    const value = sent.values[index] as number;
    const place = FINGERPRINT_WORDS * items.places.length;
    judge.fingerprintInto.ofAscii(eventType, bytes, at, length, items.fingerprints, place);
    items.places.push(index);
    items.eventIds.push(text.slice(at, at + length));
    items.eventTypes.push(eventType);
    items.times.push(timeMs);
    items.values.push(Number.isNaN(value) ? null : value);
    items.currencies.push(currencyOf(sent.currencies[index] as number));
    items.customEventNames.push(sent.customEventNames.get(index));
    items.more.push(undefined);
    return undefined;
  };
};

const timeProblem = (timeMs: number, { nowMs }: Judge): string | undefined => {
  if (timeMs > nowMs + DAY_MS) return 'eventTime is more than 24 hours in the future';
  if (timeMs < nowMs - EVENT_AGE_DAYS_MAX * DAY_MS || timeMs < 0) {
    return `eventTime is more than ${EVENT_AGE_DAYS_MAX} days ago`;
  }
  return undefined;
};

const typeProblem = (eventType: unknown, { allowed }: Judge): string | undefined =>
  allowed?.has(eventType) === false ? 'eventType is none of those that the event source takes' : undefined;

/** @returns what is wrong with the item; undefined when it was added */
const addItem = (item: unknown, index: number, items: ItemColumns, judge: Judge): string | undefined => {
  if (!isItem(item)) return 'must be an object';
  const { eventId, eventTime, eventType = DEFAULT_EVENT_TYPE, value, currency, customEventName } = item;
  const idProblem = textProblem(eventId, 256);
  if (idProblem !== undefined) return `eventId ${idProblem}`;
  const timeMs = typeof eventTime === 'string' ? parseRfc3339(eventTime) : undefined;
  if (timeMs === undefined) return 'eventTime must be an RFC 3339 date-time, e.g. "2026-01-31T12:00:00Z"';
  const outOfTime = timeProblem(timeMs, judge);
  if (outOfTime !== undefined) return outOfTime;
  if (!knownTypes.has(eventType)) return 'eventType is none of the known event types';
  const notTaken = typeProblem(eventType, judge);
  if (notTaken !== undefined) return notTaken;
  if (value !== undefined && !(typeof value === 'number' && Number.isFinite(value))) {
    return 'value must be a finite number';
  }
  if (currency !== undefined && !(typeof currency === 'string' && CURRENCY.test(currency))) {
    return 'currency must be three uppercase letters';
  }
  if (customEventName !== undefined) {
    const problem = textProblem(customEventName, 256);
    if (problem !== undefined) return `customEventName ${problem}`;
  }
  const isPlain = !hasMore(item);
  const problem = isPlain ? undefined : moreProblem(item);
  if (problem !== undefined) return problem;
  const place = FINGERPRINT_WORDS * items.places.length;
  judge.fingerprintInto(eventType as EventType, eventId as string, items.fingerprints, place);
  items.places.push(index);
  items.eventIds.push(eventId as string);
  items.eventTypes.push(eventType as EventType);
  items.times.push(timeMs);
  items.values.push(value ?? null);
  items.currencies.push(currency);
  items.customEventNames.push(customEventName as string | undefined);
  items.more.push(isPlain ? undefined : moreOf(item));
  return undefined;
};
