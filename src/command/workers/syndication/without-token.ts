/** A shorter one is no secret, and is found in words that mean something else. */
const TOKEN_LENGTH_MIN = 8;
/** What is deeper is not kept (`storable-json.ts`). */
const DEPTH_MAX = 64;

/**
 * What an agent says, with the token left out that it was called with: an agent that repeats what it was sent must not
 * bring the secret into an event, or before the eyes of whoever may only read.
 */
export const withoutToken = (value: unknown, token: string | undefined): unknown =>
  token === undefined || token.length < TOKEN_LENGTH_MIN ? value : hide(value, token, 0);

const hide = (value: unknown, token: string, depth: number): unknown => {
  if (typeof value === 'string') return value.replaceAll(token, '[token]');
  if (typeof value !== 'object' || value === null || depth >= DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((one) => hide(one, token, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name.replaceAll(token, '[token]'),
      hide(one, token, depth + 1),
    ]),
  );
};
