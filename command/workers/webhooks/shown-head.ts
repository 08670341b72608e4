import type { Secrets } from './sign.ts';

const HIDDEN = '[secret]';
/** A shorter beginning at the cut tells nothing. */
const PART_MIN = 8;
const PREFIX = 'whsec_';

/** How receivers write a character: as it is, or escaped as in JSON, HTML or an address. */
const characterOf = (character: string): string => {
  if (/\w/.test(character)) return character;
  const code = character.charCodeAt(0);
  const hex = code.toString(16).padStart(2, '0');
  const entity = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }[character];
  const forms = [
    String.raw`\\?\u${hex.padStart(4, '0')}`,
    String.raw`\\u${hex.padStart(4, '0')}`,
    `%${hex}`,
    `&#0*${code};`,
    `&#x0*${hex};`,
    ...(entity === undefined ? [] : [`&${entity};`]),
  ];
  return `(?:${forms.join('|')})`;
};

/** The secret, with its prefix or without it, and its beginning where the text is cut. */
const patternOf = (secret: string): RegExp => {
  const isPrefixed = secret.startsWith(PREFIX);
  const text = isPrefixed ? secret.slice(PREFIX.length) : secret;
  const key = (text.match(/./g) ?? []).map(characterOf);
  const begin = key.slice(0, PART_MIN).join('');
  const rest = key.slice(PART_MIN);
  const part = rest.reduceRight((following, one) => `(?:${one}${following})?`, '');
  return new RegExp(`(?:${PREFIX})?${begin}(?:${rest.join('')}|${part}$)`, 'gi');
};

/** A run has the same secrets for all its attempts. */
const patterns = new WeakMap<Secrets, readonly RegExp[]>();

/** Valid text without NUL, which Postgres refuses, and without the secrets, which a receiver may echo. */
export const shownHead = (head: Buffer, secrets: Secrets): string => {
  if (head.length === 0) return '';
  // A stream's decoder leaves out a character that the cut has split.
  const text = new TextDecoder().decode(head, { stream: true }).replaceAll('\0', '\uFFFD');
  const known = patterns.get(secrets) ?? secrets.map(patternOf);
  patterns.set(secrets, known);
  return known.reduce((shown, pattern) => shown.replaceAll(pattern, HIDDEN), text);
};
