/** Longest text of an agent's that is kept or shown, in characters. */
const LENGTH_MAX = 500;

/**
 * An agent's words as they may be kept: of bounded length, without what a database or a terminal stumbles over. Where it
 * is cut, no half a word is left that may be half an id (of 128 characters at most).
 */
export const shownText = (text: string): string => {
  const shown = text.toWellFormed().replaceAll(/\p{Cc}+/gu, ' ');
  return shown.length <= LENGTH_MAX
    ? shown
    : shown
        .slice(0, LENGTH_MAX)
        .replace(/\S{1,128}$/, '')
        .toWellFormed();
};
