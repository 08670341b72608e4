import type { LinkedBrand } from '../../domain/brands/brand.ts';
import { createOutboundFetch, type OutboundFetch } from '../../shared/outbound/outbound-fetch.ts';
import type { OutboundPolicy } from '../../shared/outbound/outbound-url.ts';
import { brandDetails, elsewhere, manifestUrl } from './brand-manifest.ts';

/** Never throws, and returns within a time limit. */
export type FindBrand = (domain: string) => Promise<LinkedBrand>;

export const bareBrand = (domain: string): LinkedBrand => ({ domain, name: domain });

const BYTES_MAX = 256 * 1024;

/** The buyer chooses the domain, so requests follow the outbound policy. */
export const brandFetch = (outbound: OutboundPolicy, withinMs: number): OutboundFetch =>
  createOutboundFetch({ ...outbound, timeoutMs: withinMs, bytesMax: BYTES_MAX });

/** `/.well-known/brand.json`, and where it refers to. @param withinMs for both; after it, only the domain */
export const createFindBrand =
  (fetch: OutboundFetch, withinMs: number): FindBrand =>
  async (domain) => {
    const signal = AbortSignal.timeout(withinMs);
    const read = async (url: string): Promise<unknown> => {
      const answer = await fetch(url, { headers: HEADERS, signal });
      if (answer.ok) return answer.json();
      await answer.body?.cancel();
      return undefined;
    };
    try {
      const manifest = await read(manifestUrl(domain));
      const place = elsewhere(manifest);
      const described = place === undefined ? manifest : await read(place);
      return { ...bareBrand(domain), ...brandDetails(described, domain) };
    } catch {
      // The buyer's request does not depend on the manifest.
      return bareBrand(domain);
    }
  };

const HEADERS = { accept: 'application/json', 'user-agent': 'buyer-exchange/1' };
