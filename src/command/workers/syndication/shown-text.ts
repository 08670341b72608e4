/** Longest text of an agent's that is kept or shown, in characters. */
const LENGTH_MAX = 500;

/** An agent's words as they may be kept: of bounded length, without what a database or a terminal stumbles over. */
export const shownText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, LENGTH_MAX)
    .toWellFormed();
