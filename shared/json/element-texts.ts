const [QUOTE, BACKSLASH, COMMA, ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [
  0x22, 0x5c, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d,
] as const;

const stringEnd = (json: string, from: number): number => {
  let at = from + 1;
  for (let code = json.charCodeAt(at); code !== QUOTE; code = json.charCodeAt(at)) {
    at += code === BACKSLASH ? 2 : 1;
  }
  return at + 1;
};

/** The trimmed text of each element of the array `member`; the last one counts, as in `JSON.parse`. */
export const elementTexts = (json: string, member: string): readonly string[] => {
  let texts: string[] = [];
  let depth = 0;
  let name: unknown;
  let start = -1;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      const end = stringEnd(json, at);
      // The last string before a member's value is the member's name.
      if (depth === 1) name = JSON.parse(json.slice(at, end));
      at = end - 1;
    } else if (code === ARRAY || code === OBJECT) {
      depth += 1;
      if (depth === 2 && code === ARRAY && name === member) [texts, start] = [[], at + 1];
    } else if (code === COMMA || code === ARRAY_END || code === OBJECT_END) {
      if (depth === 2 && start >= 0) {
        texts.push(json.slice(start, at).trim());
        start = code === COMMA ? at + 1 : -1;
      }
      if (code !== COMMA) depth -= 1;
    }
  }
  return texts;
};
