/** A shorter one is no secret, and is found in words that mean something else. */
const TOKEN_LENGTH_MIN = 8;
/** What is deeper is not kept (`storable-json.ts`). */
const DEPTH_MAX = 64;

/**
 * What an agent says, with the token left out that it was called with: an agent that repeats what it was sent must not
 * bring the secret into an event, or before the eyes of whoever may only read.
 */
export const withoutToken = (value: unknown, token: string | undefined): unknown =>
  token === undefined || token.length < TOKEN_LENGTH_MIN
    ? value
    : mapTexts(value, (text) => text.replaceAll(token, '[token]'));

/**
 * The value with every text in it changed, names of members included, and numbers whose digits would be; of what is
 * deeper than 64 nothing.
 */
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
