/**
 * Canonical JSON (RFC 8785) of items whose members are plain, put together from the bytes they were sent in: texts of
 * ASCII without escapes, true, false and null are written as they are, members sorted, numbers as ECMAScript writes them.
 */
export interface CanonicalItems {
  /** @returns false, and nothing is written, when a name is there twice */
  add(members: ItemMembers): boolean;
  /** One that was written elsewhere. */
  addWritten(json: Uint8Array): void;
  /** All of them, as an array. */
  array(): Uint8Array;
}

/** The members of one item: where their values stand in the bytes. Their names are ASCII without escapes. */
export interface ItemMembers {
  /** Of those that count; there may be more of them from an earlier item. */
  count: number;
  /** Changes with the names. */
  shape: number;
  readonly names: readonly string[];
  /** The names with their quotes. */
  readonly quoted: readonly Uint8Array[];
  readonly from: Uint32Array;
  /** Behind each value. */
  readonly to: Uint32Array;
}

const [COMMA, DASH, DOT, ZERO, NINE, COLON, ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [
  0x2c, 0x2d, 0x2e, 0x30, 0x39, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d,
] as const;

/**
 * @param bytes what the items stand in; their numbers have at most 15 digits, no exponent, and are not -0: such a decimal is
 *   the shortest of its double, but for zeros at its end
 */
export const createCanonicalItems = (bytes: Uint8Array): CanonicalItems => {
  // Items seldom become longer: only numbers of odd ones do.
  let written = new Uint8Array(bytes.length + 2);
  written[0] = ARRAY;
  let at = 1;
  let order: readonly number[] | undefined = [];
  let [orderedShape, orderedCount] = [-1, 0];

  const reserve = (length: number): void => {
    if (at + length <= written.length) return;
    const larger = new Uint8Array(Math.max(2 * written.length, at + length));
    larger.set(written);
    written = larger;
  };

  /** By hand: most pieces are shorter than what a call of `set` takes. */
  const copy = (source: Uint8Array, start: number, end: number): void => {
    const target = written;
    const to = at;
    const length = end - start;
    for (let n = 0; n < length; n += 1) target[to + n] = source[start + n] as number;
    at = to + length;
  };

  const writeValue = (from: number, to: number): void => {
    const first = bytes[from] as number;
    const end = first === DASH || (first >= ZERO && first <= NINE) ? numberEnd(bytes, from, to) : to;
    if (end > 0) copy(bytes, from, end);
    else {
      const digits = String.fromCharCode(...bytes.subarray(from, to));
      for (const character of String(Number(digits))) written[at++] = character.charCodeAt(0);
    }
  };

  return {
    add: (members) => {
      const { count, shape, quoted, from, to } = members;
      if (shape !== orderedShape || count !== orderedCount) {
        order = orderOf(members);
        [orderedShape, orderedCount] = [shape, count];
      }
      if (order === undefined) return false;
      reserve(2 + (to[count - 1] as number) - (from[0] as number) + (quoted[0] as Uint8Array).length + 2);
      written[at++] = OBJECT;
      for (let n = 0; n < count; n += 1) {
        const place = order[n] as number;
        const name = quoted[place] as Uint8Array;
        if (n > 0) written[at++] = COMMA;
        copy(name, 0, name.length);
        written[at++] = COLON;
        writeValue(from[place] as number, to[place] as number);
      }
      written[at++] = OBJECT_END;
      written[at++] = COMMA;
      return true;
    },
    addWritten: (json) => {
      reserve(json.length + 1);
      written.set(json, at);
      at += json.length;
      written[at++] = COMMA;
    },
    array: () => {
      reserve(1);
      // In place of the last comma.
      if (at > 1) at -= 1;
      written[at++] = ARRAY_END;
      return written.subarray(0, at);
    },
  };
};

/** The places of the names as they are sorted; undefined when one is there twice. */
const orderOf = ({ names, count }: ItemMembers): readonly number[] | undefined => {
  const order: number[] = [];
  for (let place = 0; place < count; place += 1) {
    const name = names[place] as string;
    let n = place;
    while (n > 0 && (names[order[n - 1] as number] as string) > name) n -= 1;
    if (n > 0 && names[order[n - 1] as number] === name) return undefined;
    order.splice(n, 0, place);
  }
  return order;
};

/** Where a number ends without the zeros that change nothing; -1 when it is to be written in another way. */
const numberEnd = (bytes: Uint8Array, from: number, to: number): number => {
  let dot = from;
  while (dot < to && bytes[dot] !== DOT) dot += 1;
  if (dot === to) return to;
  let end = to;
  while (bytes[end - 1] === ZERO) end -= 1;
  if (end - 1 === dot) return dot;
  return isSmall(bytes, dot) ? -1 : end;
};

/** Whether a decimal is perhaps less than 1e-6: ECMAScript writes it with an exponent then. */
const isSmall = (bytes: Uint8Array, dot: number): boolean => {
  for (let at = dot + 1; at <= dot + 6; at += 1) if (bytes[at] !== ZERO) return false;
  return bytes[dot - 1] === ZERO;
};
