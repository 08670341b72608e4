/** Characters. */
const LENGTH_MAX = 500;

/**
 * Bounds and cleans a text from outside for storage and terminals. The cut never leaves a partial word, because it could
 * be part of an id (at most 128 characters).
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
