import { brandDomainOf, type LinkedBrand } from '../../domain/brands/brand.ts';
import { isHttpUrl } from '../../domain/values.ts';

/** AdCP brand manifest: a house's portfolio, or one brand. Foreign text is checked, bounded and cleaned. */

type Members = Readonly<Record<string, unknown>>;

const TEXT_LENGTH_MAX = 200;
const TAGLINE_LENGTH_MAX = 500;
const URL_LENGTH_MAX = 2_048;
const COLORS_MAX = 20;
const COLOR = /^#(?:[0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$/;

export type BrandDetails = Partial<Omit<LinkedBrand, 'domain'>>;

/** @param domain normalized by `brandDomainOf` */
export const brandDetails = (manifest: unknown, domain: string): BrandDetails => {
  const brand = brandOf(manifest, domain);
  const details = {
    name: textOf(brand['name'], TEXT_LENGTH_MAX) ?? localized(brand['names'], TEXT_LENGTH_MAX),
    logoUrl: logoOf(brand),
    industry: textOf(brand['industry'], TEXT_LENGTH_MAX) ?? firstText(brand['industries']),
    tagline: textOf(brand['tagline'], TAGLINE_LENGTH_MAX) ?? localized(brand['tagline'], TAGLINE_LENGTH_MAX),
    colors: colorsOf(brand['colors']),
  };
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
};

/** Undefined when the manifest describes the brand itself. */
export const elsewhere = (manifest: unknown): string | undefined => {
  const { authoritative_location: location, house } = membersOf(manifest);
  if (typeof location === 'string') return location;
  const domain = typeof house === 'string' ? brandDomainOf(house) : undefined;
  return domain === undefined ? undefined : manifestUrl(domain);
};

export const manifestUrl = (domain: string): string => `https://${domain}/.well-known/brand.json`;

/** The portfolio's brand with this domain, or its only brand; else the house itself. */
const brandOf = (manifest: unknown, domain: string): Members => {
  const root = membersOf(manifest);
  const brands = listOf(root['brands']).map(membersOf);
  if (brands.length === 0) return root;
  const [only] = brands;
  const found = brands.find((brand) => domainsOf(brand).includes(domain));
  return found ?? (brands.length === 1 && only !== undefined ? only : membersOf(root['house']));
};

const domainsOf = ({ url, properties }: Members): readonly string[] =>
  [
    url,
    ...listOf(properties)
      .map(membersOf)
      .filter(({ type }) => type === 'website')
      .map(({ identifier }) => identifier),
  ].flatMap((address) => (typeof address === 'string' ? (brandDomainOf(address) ?? []) : []));

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/** Control characters, line separators, and characters that change the text direction. */
const UNSHOWN = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;

const textOf = (value: unknown, lengthMax: number): string | undefined => {
  if (typeof value !== 'string') return undefined;
  const text = value
    .slice(0, 4 * lengthMax)
    .toWellFormed()
    .replaceAll(UNSHOWN, ' ')
    .trim();
  const cut = Array.from(text).slice(0, lengthMax).join('').trim();
  return cut === '' ? undefined : cut;
};

const firstText = (value: unknown): string | undefined =>
  listOf(value)
    .map((one) => textOf(one, TEXT_LENGTH_MAX))
    .find((text) => text !== undefined);

const localized = (value: unknown, lengthMax: number): string | undefined => {
  const texts = listOf(value).flatMap((one) =>
    Object.entries(membersOf(one)).flatMap(([locale, given]) => {
      const text = textOf(given, lengthMax);
      return text === undefined ? [] : [{ locale, text }];
    }),
  );
  return (texts.find(({ locale }) => /^en(?:[_-]|$)/i.test(locale)) ?? texts[0])?.text;
};

const logoOf = ({ logoUrl, logo_url: plain, logos }: Members): string | undefined =>
  [logoUrl, plain, ...listOf(logos).map((logo) => membersOf(logo)['url'] ?? logo)].find(isSecureUrl);

const isSecureUrl = (value: unknown): value is string => {
  if (typeof value !== 'string' || value.length > URL_LENGTH_MAX || !isHttpUrl(value)) return false;
  const { protocol, username, password } = new URL(value);
  return protocol === 'https:' && username === '' && password === '' && value.search(/[\p{Cc}\s"<>\\]/u) < 0;
};

const colorsOf = (value: unknown): string[] | undefined => {
  const given = Array.isArray(value) ? (value as unknown[]) : Object.values(membersOf(value));
  const colors = given
    .flat()
    .filter((color): color is string => typeof color === 'string' && COLOR.test(color))
    .slice(0, COLORS_MAX);
  return colors.length === 0 ? undefined : [...new Set(colors)];
};
