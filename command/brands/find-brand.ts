import type { LinkedBrand } from '../../domain/brands/brand.ts';
import { createOutboundFetch, type OutboundFetch } from '../../shared/outbound/outbound-fetch.ts';
import type { OutboundPolicy } from '../../shared/outbound/outbound-url.ts';
import { brandDetails, elsewhere, manifestUrl } from './brand-manifest.ts';

/** What is known of the brand of a domain. Never throws, and ends in a bounded time. */
export type FindBrand = (domain: string) => Promise<LinkedBrand>;

/** A brand of which nothing but its domain is known. */
export const bareBrand = (domain: string): LinkedBrand => ({ domain, name: domain });

const BYTES_MAX = 256 * 1024;

/** A `fetch` for manifests. The domain is the buyer's to choose: where it leads is judged like any such address. */
export const brandFetch = (outbound: OutboundPolicy, withinMs: number): OutboundFetch =>
  createOutboundFetch({ ...outbound, timeoutMs: withinMs, bytesMax: BYTES_MAX });

/**
 * Asks the brand's own domain (`/.well-known/brand.json`), and where that refers to another place, that one.
 * @param fetch with its bounds: addresses, redirects, bytes
 * @param withinMs for all of it: then, as after any failure, nothing but the domain is known
 */
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
      // Away, slow, refused or not JSON: what the buyer asked for does not depend on it.
      return bareBrand(domain);
    }
  };

const HEADERS = { accept: 'application/json', 'user-agent': 'buyer-exchange/1' };
