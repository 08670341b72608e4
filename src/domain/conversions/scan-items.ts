import { DEFAULT_EVENT_TYPE, EventType } from '../event-sources/event-type.ts';
import { createCanonicalItems, type CanonicalItems, type ItemMembers } from './canonical-items.ts';
import {
  createTimeReader,
  extentOf,
  isSame,
  plainTextEnd,
  readNumber,
  skipPiece,
  skipSpace,
  type ReadNumber,
} from './scan-json.ts';

/**
 * The items of a body of the usual form, read from its bytes in one pass: nothing is made for each of them. What is
 * not of that form stays as JSON gives it (`odd`), so that one check knows every rule (`validate-items.ts`). What is
 * read here is what that check would take, but for how old it may be and which types the source takes.
 */
export interface ScannedItems extends Columns {
  readonly length: number;
  readonly bytes: Uint8Array;
  /** The bytes as Latin-1. */
  readonly text: string;
  /** Items of another form, by their place. */
  readonly odd: ReadonlyMap<number, unknown>;
}

/** An entry for each item; of an odd one it has no meaning. */
interface Columns {
  /** Where its id stands in the bytes, in ASCII. */
  readonly idAt: Uint32Array;
  readonly idLength: Uint16Array;
  /** Milliseconds since the epoch. */
  readonly times: Float64Array;
  /** Its place among `EventType.options`. */
  readonly types: Uint8Array;
  /** NaN: none. */
  readonly values: Float64Array;
  /** Three letters, the last one in the lowest byte; 0: none. */
  readonly currencies: Uint32Array;
  readonly customEventNames: ReadonlyMap<number, string>;
}

export interface ScannedBody {
  readonly items: ScannedItems;
  /** The body as JSON, with `[null]` in place of the items. */
  readonly rest: string;
  /** Canonical JSON (RFC 8785) of the array of items; when it was asked for. */
  readonly canonicalItems: Uint8Array | undefined;
}

/** What may come before the array: `{` and members of plain values. */
const HEAD = /^\s*\{(?:\s*"\w+"\s*:\s*(?:"[^"\\]*"|\d+|true|false)\s*,)*\s*"events"\s*:\s*\[/;
/** Of what comes before the array, and of what comes behind it. */
const REST_LENGTH_MAX = 1_000;
/** ASCII without escapes. */
const PLAIN = /^[\s!-[\]-~]*$/;
const ITEMS_MAX = 10_000;
/** Of one with an id and a time; what is shorter is an odd one, and too many of these end the scan. */
const ITEM_BYTES_MIN = 2;
/**
 * Of odd items together, and of each: beside it the other items and the rest fit into what a body may hold. Nobody
 * comes near it with events.
 */
const [VALUES_MAX, DEPTH_MAX] = [200_000, 16] as const;
/** So many odd items, and more than half of those so far: JSON as a whole is quicker. */
const ODD_ENOUGH = 32;

const [COMMA, OPEN, ARRAY_END] = [0x2c, 0x7b, 0x5d] as const;

/**
 * Undefined for every other form, and for whatever is not JSON: then the body is to be parsed as a whole.
 * @param text the bytes as Latin-1
 * @param parseOdd one item from its place in the bytes to another; undefined ends the scan
 * @param canonicalOf canonical JSON of an odd item, in UTF-8; absent: that of the items is not asked for
 */
export const scanItems = (
  bytes: Uint8Array,
  text: string,
  parseOdd: (from: number, to: number) => { readonly item: unknown } | undefined,
  canonicalOf?: (item: unknown) => Uint8Array,
): ScannedBody | undefined => {
  const head = HEAD.exec(text.slice(0, REST_LENGTH_MAX))?.[0];
  if (head === undefined) return undefined;
  const columns = createColumns(Math.min(ITEMS_MAX, Math.ceil(bytes.length / ITEM_BYTES_MIN)));
  const odd = new Map<number, unknown>();
  const canonical = canonicalOf && createCanonicalItems(bytes);
  const read = createItemReader(bytes, text, columns, canonical);
  let at = head.length;
  let values = 0;
  for (let index = 0; index < ITEMS_MAX; index += 1) {
    const start = skipSpace(bytes, at);
    if (bytes[start] !== OPEN) return undefined;
    at = read(start, index);
    if (at < 0) {
      const extent = extentOf(bytes, start);
      if (extent === undefined || extent.depth > DEPTH_MAX) return undefined;
      const parsed = parseOdd(start, extent.end);
      values += extent.values;
      const isCommon = odd.size > ODD_ENOUGH && odd.size > index / 2;
      if (parsed === undefined || values > VALUES_MAX || isCommon) return undefined;
      odd.set(index, parsed.item);
      if (canonicalOf !== undefined) canonical?.addWritten(canonicalOf(parsed.item));
      at = extent.end;
    }
    at = skipSpace(bytes, at);
    if (bytes[at] === ARRAY_END) {
      if (bytes.length - at > REST_LENGTH_MAX) return undefined;
      const tail = text.slice(at);
      const rest = `${head}null${tail}`;
      // The last array of the name counts: there is none behind this one, however its name is written.
      if (tail.includes('"events"') || !PLAIN.test(rest)) return undefined;
      const items = { ...columns, length: index + 1, bytes, text, odd };
      return { items, rest, canonicalItems: canonical?.array() };
    }
    if (bytes[at] !== COMMA) return undefined;
    at += 1;
  }
  return undefined;
};

const createColumns = (length: number) => ({
  idAt: new Uint32Array(length),
  idLength: new Uint16Array(length),
  times: new Float64Array(length),
  types: new Uint8Array(length),
  values: new Float64Array(length),
  currencies: new Uint32Array(length),
  customEventNames: new Map<number, string>(),
});

const memberNames = ['eventId', 'eventTime', 'eventType', 'value', 'currency', 'customEventName'] as const;
/** `other` is passed over; `odd` makes the item an odd one. */
type Member = (typeof memberNames)[number] | 'other' | 'odd';

const known: ReadonlyMap<string, Member> = new Map<string, Member>([
  ...memberNames.map((name) => [name, name] as const),
  ...['userMatch', 'actionSource', 'eventSourceUrl', 'orderId', 'contentIds'].map(
    (name) => [name, 'odd'] as const,
  ),
  // The rules for all JSON refuse them.
  ...['__proto__', 'constructor', 'prototype'].map((name) => [name, 'odd'] as const),
]);
const typesByName: ReadonlyMap<string, number> = new Map(
  EventType.options.map((type, place) => [type, place]),
);
const DEFAULT_TYPE = EventType.options.indexOf(DEFAULT_EVENT_TYPE);

const MEMBERS_MAX = 24;
const TEXT_MAX = 256;
const [QUOTE, COLON, CLOSE, UPPER_A, UPPER_Z] = [0x22, 0x3a, 0x7d, 0x41, 0x5a] as const;
const literals = ['true', 'false', 'null'] as const;

/** An item as far as it was read. */
interface Draft {
  idAt: number;
  idLength: number;
  timeMs: number;
  type: number;
  value: number;
  currency: number;
  customEventName: string | undefined;
}

/** The members of the item before, in their order: those of the next are the same, mostly. */
const createShape = (bytes: Uint8Array, text: string) => {
  const quoted: Uint8Array[] = [];
  const names: string[] = [];
  const kinds: Member[] = [];
  const members: ItemMembers = {
    count: 0,
    shape: 0,
    names,
    quoted,
    from: new Uint32Array(MEMBERS_MAX),
    to: new Uint32Array(MEMBERS_MAX),
  };

  const learn = (place: number, from: number): number => {
    const end = bytes[from] === QUOTE ? plainTextEnd(bytes, from + 1) : -1;
    if (end < 0) return -1;
    const name = text.slice(from + 1, end);
    quoted[place] = bytes.slice(from, end + 1);
    names[place] = name;
    kinds[place] = known.get(name) ?? 'other';
    members.shape += 1;
    return end + 1;
  };

  return { members, quoted, kinds, learn };
};

/** Reads one item into its place in the columns and gives where it ends; -1 when it is an odd one. */
const createItemReader = (
  bytes: Uint8Array,
  text: string,
  columns: ReturnType<typeof createColumns>,
  canonical: CanonicalItems | undefined,
): ((from: number, index: number) => number) => {
  const draft: Draft = {
    idAt: 0,
    idLength: 0,
    timeMs: Number.NaN,
    type: 0,
    value: Number.NaN,
    currency: 0,
    customEventName: undefined,
  };
  const readMember = createMemberReader(bytes, text, draft);
  const { members, quoted, kinds, learn } = createShape(bytes, text);

  const readMembers = (from: number): number => {
    let at = from + 1;
    for (let place = 0; place < MEMBERS_MAX; place += 1) {
      at = skipSpace(bytes, at);
      let next = place < quoted.length ? skipPiece(bytes, at, quoted[place] as Uint8Array) : -1;
      if (next < 0) next = learn(place, at);
      if (next < 0) return -1;
      at = skipSpace(bytes, next);
      if (bytes[at] !== COLON) return -1;
      const start = skipSpace(bytes, at + 1);
      at = readMember(kinds[place] as Member, start);
      if (at < 0) return -1;
      members.from[place] = start;
      members.to[place] = at;
      at = skipSpace(bytes, at);
      if (bytes[at] === CLOSE) {
        members.count = place + 1;
        return at + 1;
      }
      if (bytes[at] !== COMMA) return -1;
      at += 1;
    }
    return -1;
  };

  return (from, index) => {
    draft.idLength = 0;
    draft.timeMs = Number.NaN;
    draft.type = DEFAULT_TYPE;
    draft.value = Number.NaN;
    draft.currency = 0;
    draft.customEventName = undefined;
    const end = readMembers(from);
    if (end < 0 || draft.idLength === 0 || Number.isNaN(draft.timeMs)) return -1;
    if (canonical?.add(members) === false) return -1;
    columns.idAt[index] = draft.idAt;
    columns.idLength[index] = draft.idLength;
    columns.times[index] = draft.timeMs;
    columns.types[index] = draft.type;
    columns.values[index] = draft.value;
    columns.currencies[index] = draft.currency;
    if (draft.customEventName !== undefined) columns.customEventNames.set(index, draft.customEventName);
    return end;
  };
};

/** Three upper-case letters as a number; 0 for anything else. */
const currencyCode = (bytes: Uint8Array, from: number, to: number): number => {
  if (to - from !== 3) return 0;
  let code = 0;
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] as number;
    if (byte < UPPER_A || byte > UPPER_Z) return 0;
    code = (code << 8) | byte;
  }
  return code;
};

/** The letters of a currency's number. */
export const currencyText = (code: number): string =>
  String.fromCharCode(code >> 16, (code >> 8) & 0xff, code & 0xff);

/** Reads a member's value into the draft and gives the place behind it; -1 when it makes the item an odd one. */
const createMemberReader = (
  bytes: Uint8Array,
  text: string,
  draft: Draft,
): ((member: Member, from: number) => number) => {
  const readTime = createTimeReader(bytes, text);
  const number: ReadNumber = { value: 0, end: -1 };
  /** The type of the item before. */
  let [typeAt, typeLength, type] = [0, -1, 0];

  const typeOf = (from: number, to: number): number => {
    if (to - from === typeLength && isSame(bytes, typeAt, from, typeLength)) return type;
    const found = typesByName.get(text.slice(from, to));
    if (found === undefined) return -1;
    [typeAt, typeLength, type] = [from, to - from, found];
    return found;
  };

  /** @returns false when it makes the item an odd one */
  const takeText = (member: Member, from: number, to: number): boolean => {
    const isText = to > from && to - from <= TEXT_MAX;
    switch (member) {
      case 'eventId':
        draft.idAt = from;
        draft.idLength = to - from;
        return isText;
      case 'eventTime':
        draft.timeMs = readTime(from, to);
        return true;
      case 'eventType':
        draft.type = typeOf(from, to);
        return draft.type >= 0;
      case 'currency':
        draft.currency = currencyCode(bytes, from, to);
        return draft.currency > 0;
      case 'customEventName':
        draft.customEventName = text.slice(from, to);
        return isText;
      case 'other':
        return true;
      case 'value':
      case 'odd':
        return false;
      default:
        return member satisfies never;
    }
  };

  return (member, from) => {
    if (bytes[from] === QUOTE) {
      const end = plainTextEnd(bytes, from + 1);
      return end >= 0 && takeText(member, from + 1, end) ? end + 1 : -1;
    }
    if (member === 'value' || member === 'other') {
      readNumber(bytes, from, number);
      if (number.end >= 0 && member === 'value') draft.value = number.value;
      if (number.end >= 0 || member === 'value') return number.end;
      const literal = literals.find((word) => text.startsWith(word, from));
      return literal === undefined ? -1 : from + literal.length;
    }
    return -1;
  };
};
