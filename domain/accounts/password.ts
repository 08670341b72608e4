import { boundedText } from '../values.ts';

/** In code points. Verified as it was sent: neither trimmed nor normalized. */
const CHARACTERS_MIN = 12;
const CHARACTERS_MAX = 128;

export const NewPassword = boundedText(CHARACTERS_MIN, CHARACTERS_MAX).meta({ writeOnly: true });

/** A wrong one is refused as wrong, however short it is. */
export const PresentedPassword = boundedText(1, CHARACTERS_MAX).meta({ writeOnly: true });

const PRODUCT = 'buyerexchange';
/** Shorter words are part of too many good passwords. */
const WORD_MIN = 4;

const lettersOf = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** @param words of the user, e.g. the company's name @returns the word in the password, or undefined */
export const guessableWordIn = (password: string, words: readonly string[]): string | undefined => {
  const letters = lettersOf(password);
  return [PRODUCT, ...words].find((word) => {
    const own = lettersOf(word);
    return own.length >= WORD_MIN && letters.includes(own);
  });
};
