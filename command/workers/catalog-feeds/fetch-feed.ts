import { createHash } from 'node:crypto';
import type { CatalogDefinition } from '../../../domain/catalogs/resource.ts';
import { OutboundError } from '../../../shared/outbound/outbound-error.ts';
import type { OutboundFetch } from '../../../shared/outbound/outbound-fetch.ts';

export type Feed = Extract<CatalogDefinition['content'], { kind: 'feed' }>;

export type FeedAnswer =
  | {
      readonly outcome: 'read';
      /** SHA-256, hex. */
      readonly contentHash: string;
      readonly bytes: number;
    }
  /** May be shown to the buyer: it contains only the server's status. */
  | { readonly outcome: 'failed'; readonly reason: string };

/** @throws the signal's reason when aborted; never for anything the feed's server does */
export type FetchFeed = (feed: Feed, signal: AbortSignal) => Promise<FeedAnswer>;

/** The beginning of an HTML page, such as a login page. */
const WEB_PAGE = /^(?:\u00EF\u00BB\u00BF)?\s*<(?:!doctype\s+)?html\b/i;
const BEGIN_MAX = 512;
const HEADERS = { accept: '*/*', 'user-agent': 'buyer-exchange/1' };

/** Stores none of the bytes. */
export const createFetchFeed =
  (fetch: OutboundFetch): FetchFeed =>
  async ({ url }, signal) => {
    try {
      const answer = await fetch(url, { headers: HEADERS, signal });
      if (!answer.ok) {
        await answer.body?.cancel();
        return failed(`The feed's server answered with HTTP status ${answer.status}.`);
      }
      const hash = createHash('sha256');
      let [bytes, begin] = [0, ''];
      for await (const piece of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
        hash.update(piece);
        bytes += piece.length;
        if (begin.length >= BEGIN_MAX) continue;
        begin += Buffer.from(piece).toString('latin1', 0, BEGIN_MAX);
        if (WEB_PAGE.test(begin)) return failed('The address leads to a web page, not to a feed.');
      }
      if (bytes === 0) return failed('The feed is empty.');
      return { outcome: 'read', contentHash: hash.digest('hex'), bytes };
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof OutboundError) return failed(error.message);
      throw error;
    }
  };

const failed = (reason: string): FeedAnswer => ({ outcome: 'failed', reason });
