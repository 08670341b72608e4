import { DEFAULT_EVENT_TYPE, EventType } from '../event-sources/event-type.ts';
import type { MoreMembers } from './events.ts';
import { FINGERPRINT_WORDS, type FingerprintInto } from './fingerprint.ts';
import { hasMore, isItem, isMemberName, moreOf, moreProblem, textProblem } from './item-members.ts';

/** Replaces an item that violates a rule of the JSON reader. */
export class UnreadableItem {
  readonly fault: string;
  /** The member with the fault; undefined for the item itself. */
  readonly member: string | undefined;

  constructor(fault: string, member: string | undefined) {
    this.fault = fault;
    this.member = member;
  }
}

export interface Rejection {
  readonly index: number;
  readonly reason: string;
}

/** The members of a valid item that are logged as they were sent. */
export interface SentItem {
  readonly eventId: string;
  readonly eventType?: EventType;
  readonly value?: number;
  readonly currency?: string;
  readonly customEventName?: string;
}

/** Valid items. Their members are not copied into lists, to reduce GC pressure. */
export interface ValidItems {
  readonly sent: SentItem[];
  /** Milliseconds since the epoch. */
  readonly times: number[];
  /** Keys are places in `sent`. Items without further members have none. */
  readonly more: Map<number, MoreMembers>;
  /** `FINGERPRINT_WORDS` words each. */
  readonly fingerprints: Uint32Array;
}

export interface ValidatedItems {
  readonly items: ValidItems;
  readonly rejected: readonly Rejection[];
}

export interface ItemRules {
  /** Time of the decision, in milliseconds since the epoch. */
  readonly nowMs: number;
  readonly allowedTypes?: readonly EventType[] | undefined;
  readonly fingerprintInto: FingerprintInto;
  /** Parses an `eventTime`. @returns milliseconds since the epoch, or the problem */
  readonly readTime: (text: string) => number | string;
}

const DAY_MS = 86_400_000;
/** Older events are refused: their fingerprints are purged, so a repeat would not be detected. */
const EVENT_AGE_DAYS_MAX = 90;
const CURRENCY = /^[A-Z]{3}$/;
const knownTypes: ReadonlySet<unknown> = new Set(EventType.options);

export const validateItems = (sent: readonly unknown[], rules: ItemRules): ValidatedItems => {
  const rejected: Rejection[] = [];
  const items: ValidItems = {
    sent: [],
    times: [],
    more: new Map(),
    fingerprints: new Uint32Array(FINGERPRINT_WORDS * sent.length),
  };
  const check: ItemCheck = { ...rules, allowed: rules.allowedTypes && new Set<unknown>(rules.allowedTypes) };
  for (let index = 0; index < sent.length; index += 1) {
    const reason = addItem(sent[index], items, check);
    if (reason !== undefined) rejected.push({ index, reason });
  }
  return { items, rejected };
};

interface ItemCheck extends ItemRules {
  readonly allowed: ReadonlySet<unknown> | undefined;
}

const timeProblem = (timeMs: number, { nowMs }: ItemCheck): string | undefined => {
  if (timeMs > nowMs + DAY_MS) return 'eventTime is more than 24 hours in the future';
  if (timeMs < nowMs - EVENT_AGE_DAYS_MAX * DAY_MS) {
    return `eventTime is more than ${EVENT_AGE_DAYS_MAX} days ago`;
  }
  return undefined;
};

const typeProblem = (eventType: unknown, { allowed }: ItemCheck): string | undefined =>
  allowed?.has(eventType) === false ? 'eventType is not one that the event source accepts' : undefined;

/** Names only known members: reasons are logged, and a client may invent names. */
const unreadable = ({ member, fault }: UnreadableItem): string =>
  isMemberName(member) ? `${member} must not hold ${fault}` : `must not hold ${fault}`;

const addItem = (item: unknown, items: ValidItems, check: ItemCheck): string | undefined => {
  if (!isItem(item)) return 'must be an object';
  if (item instanceof UnreadableItem) return unreadable(item);
  const { eventId, eventTime, eventType = DEFAULT_EVENT_TYPE, value, currency, customEventName } = item;
  const idProblem = textProblem(eventId, 256);
  if (idProblem !== undefined) return `eventId ${idProblem}`;
  const timeMs = check.readTime(typeof eventTime === 'string' ? eventTime : '');
  if (typeof timeMs === 'string') return `eventTime ${timeMs}`;
  const outOfTime = timeProblem(timeMs, check);
  if (outOfTime !== undefined) return outOfTime;
  if (!knownTypes.has(eventType)) return 'eventType is not a known event type';
  const notTaken = typeProblem(eventType, check);
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
  const place = items.sent.length;
  if (hasMore(item)) {
    const problem = moreProblem(item);
    if (problem !== undefined) return problem;
    items.more.set(place, moreOf(item));
  }
  check.fingerprintInto(
    eventType as EventType,
    eventId as string,
    items.fingerprints,
    FINGERPRINT_WORDS * place,
  );
  items.sent.push(item as unknown as SentItem);
  items.times.push(timeMs);
  return undefined;
};
