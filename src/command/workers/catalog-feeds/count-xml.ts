import type { ItemCounter } from './item-counter.ts';

const LT = 0x3c;
const GT = 0x3e;
/** Longer names are none of those that are looked for. */
const NAME_MAX = 64;

/** What ends what is passed over as a whole. */
const ENDS: readonly (readonly [begin: string, end: string])[] = [
  ['!--', '-->'],
  ['![CDATA[', ']]>'],
  ['?', '?>'],
];
const LAST_OF_BEGIN: readonly number[] = ENDS.map(([first]) => first.charCodeAt(first.length - 1));
/** Bytes of a name with which nothing begins or ends: all but blanks and `/ > ! ? " '`. */
const IS_PLAIN = Array.from(
  { length: 256 },
  (_, byte) => byte > 0x20 && !'/>!?"\''.includes(String.fromCharCode(byte)),
);

/**
 * Finds where what is passed over ends, however it is cut into pieces.
 * @returns the place behind it; undefined when it goes on in the next piece
 */
const passOver = (end: string): ((piece: Buffer, from: number) => number | undefined) => {
  const kept = end.length - 1;
  /** The last bytes of the pieces before: no more than may begin the end. */
  let before = '';
  return (piece, from) => {
    const across = (before + piece.toString('latin1', from, Math.min(from + kept, piece.length))).indexOf(
      end,
    );
    if (across >= 0) return from + across + end.length - before.length;
    const at = piece.indexOf(end, from, 'latin1');
    if (at >= 0) return at + end.length;
    before = (before + piece.toString('latin1', Math.max(from, piece.length - kept), piece.length)).slice(
      -kept,
    );
    return undefined;
  };
};

/** What is counted of the names of start tags: those of the first of `names` that is met, without its prefix. */
const countNames = (names: readonly string[]) => {
  let wanted = names;
  let count = 0;
  let isWebPage = false;
  let isRoot = true;
  return {
    begin: (name: string): void => {
      const local = name.slice(name.indexOf(':') + 1);
      if (isRoot) isWebPage = local.toLowerCase() === 'html';
      isRoot = false;
      if (!wanted.includes(local)) return;
      wanted = [local];
      count += 1;
    },
    seen: () => count,
    count: () => (wanted.length === 1 && count > 0 ? count : undefined),
    isWebPage: () => isWebPage,
  };
};

/**
 * Start tags of the first of these names that is met, without its prefix. Not a parser: what is not well-formed is
 * counted as it is read.
 */
export const countXml = (names: readonly string[]): ItemCounter => {
  const { begin, ...counted } = countNames(names);
  /** The tag under way, from behind its `<`; undefined between tags. */
  let tag: string | undefined;
  let isNamed = false;
  let pass: ReturnType<typeof passOver> | undefined;
  let quote = 0;

  /** @returns whether the tag's name is complete with this byte */
  const named = (byte: number, before: string): boolean => {
    const isEnd = byte <= 0x20 || byte === 0x2f || byte === GT;
    if (isEnd && before !== '' && !before.startsWith('!')) {
      if (!before.startsWith('/')) begin(before);
      return true;
    }
    tag = before + String.fromCharCode(byte);
    return tag.length > NAME_MAX;
  };
  const addByte = (byte: number, before: string): void => {
    if (!isNamed) {
      isNamed = named(byte, before);
      const passed = LAST_OF_BEGIN.includes(byte) ? ENDS.find(([first]) => first === tag) : undefined;
      if (passed !== undefined) {
        pass = passOver(passed[1]);
        return;
      }
    }
    if (quote !== 0) {
      if (byte === quote) quote = 0;
    } else if (byte === 0x22 || byte === 0x27) quote = byte;
    else if (byte === GT) tag = undefined;
  };
  /** @returns the first byte of the piece that is not of the name for sure */
  const addName = (piece: Buffer, from: number, before: string): number => {
    let to = from;
    while (to < piece.length && IS_PLAIN[piece[to] ?? 0] === true) to += 1;
    tag = before + piece.toString('latin1', from, Math.min(to, from + NAME_MAX + 1));
    isNamed = tag.length > NAME_MAX;
    return to;
  };
  /** @returns where to go on in the piece; undefined at its end */
  const step = (piece: Buffer, at: number): number | undefined => {
    if (pass !== undefined) {
      const behind = pass(piece, at);
      if (behind !== undefined) pass = tag = undefined;
      return behind;
    }
    if (tag === undefined) {
      const next = piece.indexOf(LT, at);
      if (next < 0) return undefined;
      [tag, isNamed, quote] = ['', false, 0];
      return next + 1;
    }
    if (isNamed && quote !== 0) {
      const next = piece.indexOf(quote, at);
      if (next < 0) return undefined;
      quote = 0;
      return next + 1;
    }
    const byte = piece[at] ?? 0;
    if (!isNamed && IS_PLAIN[byte] === true && !tag.startsWith('!')) return addName(piece, at, tag);
    addByte(byte, tag);
    return at + 1;
  };

  return {
    add: (piece) => {
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      let at: number | undefined = 0;
      while (at !== undefined && at < bytes.length) at = step(bytes, at);
    },
    ...counted,
  };
};
