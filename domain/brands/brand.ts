import { z } from 'zod';

export const LinkedBrand = z.strictObject({
  domain: z.string(),
  name: z.string(),
  logoUrl: z.string().optional(),
  industry: z.string().optional(),
  tagline: z.string().optional(),
  colors: z.array(z.string()).optional(),
});

export type LinkedBrand = z.infer<typeof LinkedBrand>;

const HOST = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
const BRAND_LENGTH_MAX = 2_048;

/** @returns lower case, without a leading `www.`; undefined when it names no host */
export const brandDomainOf = (brand: string): string | undefined => {
  if (brand.length > BRAND_LENGTH_MAX) return undefined;
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(brand) ? brand : `https://${brand}`;
  if (!URL.canParse(address)) return undefined;
  const { protocol, hostname, username, password } = new URL(address);
  if (!['http:', 'https:'].includes(protocol) || username !== '' || password !== '') return undefined;
  const host = hostname.replace(/\.$/, '').replace(/^www\./, '');
  return HOST.test(host) ? host : undefined;
};
