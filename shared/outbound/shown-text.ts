/** Characters. */
const LENGTH_MAX = 500;

/** For storage and terminals. A cut leaves no partial word: it could be part of an id (128 characters). */
export const shownText = (text: string): string => {
  const shown = text.toWellFormed().replaceAll(/\p{Cc}+/gu, ' ');
  return shown.length <= LENGTH_MAX
    ? shown
    : shown
        .slice(0, LENGTH_MAX)
        .replace(/\S{1,128}$/, '')
        .toWellFormed();
};
