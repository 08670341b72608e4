/** Shorter tokens are not secret and would match ordinary text. */
const TOKEN_LENGTH_MIN = 8;
/** Deeper values are not stored (`storable-json.ts`). */
const DEPTH_MAX = 64;

/** An agent that echoes the request must not write the token into an event or show it to readers. */
export const withoutToken = (value: unknown, token: string | undefined): unknown =>
  token === undefined || token.length < TOKEN_LENGTH_MIN
    ? value
    : mapTexts(value, (text) => text.replaceAll(token, '[token]'));

/** Also maps member names, and numbers whose digits the function changes. */
export const mapTexts = (value: unknown, change: (text: string) => string, depth = 0): unknown => {
  if (typeof value === 'string') return change(value);
  if (typeof value === 'number') {
    const [digits, changed] = [String(value), change(String(value))];
    return changed === digits ? value : changed;
  }
  if (typeof value !== 'object' || value === null || depth >= DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [change(name), mapTexts(one, change, depth + 1)]),
  );
};
