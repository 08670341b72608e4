import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createItemCounter } from '../../src/command/workers/catalog-feeds/count-items.ts';
import { createFetchFeed, type Feed } from '../../src/command/workers/catalog-feeds/fetch-feed.ts';
import { readFeed } from '../../src/command/workers/catalog-feeds/read-feed.ts';
import { catalogAggregate } from '../../src/command/catalogs/catalog-aggregate.ts';
import { catalogStream } from '../../src/domain/catalogs/catalog.ts';
import { isoTimestamp } from '../../src/shared/clock.ts';
import { executeCommand } from '../../src/shared/command/execute-command.ts';
import { randomId } from '../../src/shared/ids.ts';
import { ADVERTISER, CUSTOMER, openCampaignLog } from '../support/campaign-log.ts';
import { OutboundError } from '../../src/shared/outbound/outbound-error.ts';

/** Feeds of catalogs: their items are counted as they come in, and what is none is told. */

type Format = Feed['feedFormat'];
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** @param cuts where the text is cut into pieces */
const countOf = (text: string, format: Format, type = '', cuts: readonly number[] = []) => {
  const counter = createItemCounter(format, type);
  const bytes = bytesOf(text);
  let from = 0;
  for (const to of [...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length]) {
    counter.add(bytes.subarray(from, to));
    from = to;
  }
  return counter.count();
};

const rss = `\ufeff<?xml version="1.0"?><!-- <item> --><rss a="<item>"><channel><title><![CDATA[ <item> ]]></title>
  <item><g:id>1</g:id><items/></item><item id='>'/><item
  ></item></channel></rss>`;
const feeds: readonly (readonly [
  what: string,
  text: string,
  format: Format,
  type: string,
  count?: number,
])[] = [
  ['RSS', rss, 'google_merchant_center', '', 3],
  ['RSS of no form', rss, undefined, 'text/plain', 3],
  ['Atom', '<feed xmlns="x"><atom:entry/><entry><item/></entry></feed>', 'facebook_catalog', '', 2],
  ['jobs', '<source><job><item/></job><job/><jobs/></source>', 'linkedin_jobs', '', 2],
  ['other XML', '<catalog><product/><product/></catalog>', 'custom', ''],
  ['a table of tabs', 'id\ttitle\n1\t5" screen\r\n2\t"a\n""b"\n\n', 'google_merchant_center', '', 2],
  ['a table of commas without an end', 'id,title\n1,"x, y"\n2,z', 'facebook_catalog', 'text/plain', 2],
  ['a table by its type', 'id;title\n1;x\n', 'custom', 'text/csv; charset=utf-8', 1],
  ['a table without rows', 'id,title', 'facebook_catalog', '', 0],
  ['variants', 'Handle,Title\na,A\na,\n', 'shopify', 'text/csv'],
  ['text', 'once upon a time\n', 'custom', 'text/plain'],
  ['an array', ' [{"a":"]},{"},{"b":[1,2,3]}, 3]', 'custom', '', 3],
  ['an empty array', '[ ]', undefined, '', 0],
  [
    'products',
    '{"page":{"x":[1,2,3,4]},"errors":[],"products":[{"v":[1,2]},{"v":"\\\\\\""}]}',
    'shopify',
    '',
    2,
  ],
  ['a value a line', '{"a":[1,2]}\n{"a":[]}\n{"b":"}"}\n', 'custom', 'application/x-ndjson', 3],
  ['one object', '{"a":1}', 'custom', ''],
  ['half an array', '[{"a":1},{"b":', 'custom', ''],
  ['something packed', '\u001f\u008b\u0008', 'google_merchant_center', 'text/csv'],
];

describe('items', () => {
  it('are counted where they can be told', () => {
    const counted = feeds.map(([what, text, format, type]) => [what, countOf(text, format, type)]);
    expect(counted).toEqual(feeds.map(([what, , , , count]) => [what, count]));
  });

  it('are as many however the feed is cut into pieces', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...feeds),
        fc.array(fc.nat(250), { maxLength: 8 }),
        ([, text, format, type, count], cuts) => {
          expect(countOf(text, format, type, cuts)).toBe(count);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('of any bytes are a number or none', () => {
    const hostile = fc.array(fc.constantFrom(...Array.from('<>!-[]{}"\'\\,\t\n/? aitem:é')), {
      maxLength: 80,
    });
    fc.assert(
      fc.property(
        hostile,
        fc.constantFrom<Format>('google_merchant_center', 'shopify', undefined),
        (text, format) => {
          const count = countOf(text.join(''), format, 'text/csv') ?? 0;
          expect(Number.isSafeInteger(count) && count >= 0 && count <= text.length).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

const signal = new AbortController().signal;
const feed: Feed = { kind: 'feed', url: 'https://feeds.example.com/' };
const answered = (body: string, init: ResponseInit = {}) =>
  createFetchFeed(async () => new Response(body, init), 100)(feed, signal);

describe('what cannot be a feed', () => {
  it.each([
    ['an error', 'secret of the server', { status: 404 }, /HTTP status 404/],
    ['nothing', '', {}, /is empty/],
    ['a log-in', ' <!DOCTYPE html>\n<HTML><body><item/></body>', {}, /a web page/],
    ['too many items', JSON.stringify(Array(102).fill(1)), {}, /more than 100 items/],
  ])('%s', async (_what, body, init, reason) => {
    const answer = await answered(body, init);
    expect(answer).toEqual({ outcome: 'failed', reason: expect.stringMatching(reason) });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });

  it('an address that leads nowhere, or elsewhere', async () => {
    const fetch = createFetchFeed(() => Promise.reject(new OutboundError('bad-answer')));
    expect(await fetch(feed, signal)).toMatchObject({ outcome: 'failed', reason: /led elsewhere/ });
  });
});

describe('two readings at once', () => {
  it('leave the catalog to a third one when they do not agree', async () => {
    const log = await openCampaignLog();
    const catalogId = randomId();
    const stream = catalogStream(CUSTOMER, catalogId);
    await executeCommand(log.store, catalogAggregate, {
      stream,
      command: {
        type: 'PublishCatalog',
        now: isoTimestamp(log.nowMs),
        catalogId,
        customerId: CUSTOMER,
        advertiserId: ADVERTISER,
        key: 'shoes',
        definition: { type: 'product', name: 'Shoes', content: { kind: 'feed', url: feed.url } },
      },
      context: { commandId: randomId(), customerId: CUSTOMER, actor: 'test', requestId: 'r' },
    });
    const due = { customerId: CUSTOMER, catalogId, revision: 0, attempt: 1, lease: '' };
    const readAs = (contentHash: string, meanwhile: () => Promise<unknown> = async () => undefined) =>
      readFeed(
        {
          ...log.writes(),
          fetchFeed: async () => {
            await meanwhile();
            return { outcome: 'read', contentHash, bytes: 1, itemCount: undefined };
          },
        },
        due,
        signal,
      );
    expect(await readAs('newer', async () => expect(await readAs('older')).toBe('asked'))).toEqual({
      afterMs: 60_000,
      isRead: true,
    });
    expect(await readAs('newer')).toBe('asked');
    const types = ['CatalogPublished', 'CatalogFeedRead', 'CatalogFeedRead'];
    expect(await log.typesOf(stream)).toEqual(types);
  });
});
