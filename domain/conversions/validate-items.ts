import { DEFAULT_EVENT_TYPE, EventType } from '../event-sources/event-type.ts';
import type { MoreMembers } from './conversion-events.ts';
import { FINGERPRINT_WORDS, type FingerprintInto } from './fingerprint.ts';
import { hasMore, isItem, isMemberName, moreOf, moreProblem, textProblem } from './item-members.ts';

/** Stands for an item that breaks a rule of the JSON reader. */
export class UnreadableItem {
  /** What it holds, e.g. `a number that is too large`. */
  readonly fault: string;
  /** The member that holds it; undefined when that is the item itself. */
  readonly member: string | undefined;

  constructor(fault: string, member: string | undefined) {
    this.fault = fault;
    this.member = member;
  }
}

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
  /** Reads an `eventTime`: milliseconds since the epoch, or what is wrong with it. */
  readonly readTime: (text: string) => number | string;
}

const DAY_MS = 86_400_000;
/** Older events are refused, so that nothing can come back after its key was forgotten. */
const EVENT_AGE_DAYS_MAX = 90;
const CURRENCY = /^[A-Z]{3}$/;
const knownTypes: ReadonlySet<unknown> = new Set(EventType.options);

/** Checks every item by itself, in one pass; one reason for each that is refused (decisions.md E14). */
export const validateItems = (sent: readonly unknown[], rules: ItemRules): ValidatedItems => {
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
  for (let index = 0; index < sent.length; index += 1) {
    const reason = addItem(sent[index], index, items, judge);
    if (reason !== undefined) rejected.push({ index, reason });
  }
  return { items, rejected };
};

interface Judge extends ItemRules {
  readonly allowed: ReadonlySet<unknown> | undefined;
}

const timeProblem = (timeMs: number, { nowMs }: Judge): string | undefined => {
  if (timeMs > nowMs + DAY_MS) return 'eventTime is more than 24 hours in the future';
  if (timeMs < nowMs - EVENT_AGE_DAYS_MAX * DAY_MS) {
    return `eventTime is more than ${EVENT_AGE_DAYS_MAX} days ago`;
  }
  return undefined;
};

const typeProblem = (eventType: unknown, { allowed }: Judge): string | undefined =>
  allowed?.has(eventType) === false ? 'eventType is none of those that the event source takes' : undefined;

/** Names no member that the caller made up: reasons are logged. */
const unreadable = ({ member, fault }: UnreadableItem): string =>
  isMemberName(member) ? `${member} must not hold ${fault}` : `must not hold ${fault}`;

/** @returns what is wrong with the item; undefined when it was added */
const addItem = (item: unknown, index: number, items: ItemColumns, judge: Judge): string | undefined => {
  if (!isItem(item)) return 'must be an object';
  if (item instanceof UnreadableItem) return unreadable(item);
  const { eventId, eventTime, eventType = DEFAULT_EVENT_TYPE, value, currency, customEventName } = item;
  const idProblem = textProblem(eventId, 256);
  if (idProblem !== undefined) return `eventId ${idProblem}`;
  const timeMs = judge.readTime(typeof eventTime === 'string' ? eventTime : '');
  if (typeof timeMs === 'string') return `eventTime ${timeMs}`;
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
