import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createFetchFeed, type Feed } from '../../command/workers/catalog-feeds/fetch-feed.ts';
import { readFeed } from '../../command/workers/catalog-feeds/read-feed.ts';
import { catalogAggregate, catalogStream } from '../../domain/catalogs/catalog.ts';
import { isoTimestamp } from '../../shared/async/clock.ts';
import { executeCommand } from '../../shared/aggregate/execute-command.ts';
import { ADVERTISER, CUSTOMER, openCampaignLog } from '../support/campaign-log.ts';
import { OutboundError } from '../../shared/outbound/outbound-error.ts';

const signal = new AbortController().signal;
const feed: Feed = { kind: 'feed', url: 'https://feeds.example.com/' };
const answered = (body: string, init: ResponseInit = {}) =>
  createFetchFeed(async () => new Response(body, init))(feed, signal);

it.each(['<?xml version="1.0"?><rss><html/></rss>', '[{"id":1}]', 'id\ttitle\n1\thtml'])(
  'a feed is accepted: %s',
  async (body) => {
    expect(await answered(body)).toMatchObject({ outcome: 'read', bytes: body.length });
  },
);

describe('a feed is refused that', () => {
  it.each([
    ['is an error', 'secret of the server', { status: 404 }, /HTTP status 404/],
    ['is empty', '', {}, /is empty/],
    ['is a web page with a byte order mark', '\ufeff<html lang="en">', {}, /a web page/],
    ['is a login page', ' <!DOCTYPE html>\n<HTML><body><item/></body>', {}, /a web page/],
  ])('%s', async (_what, body, init, reason) => {
    const answer = await answered(body, init);
    expect(answer).toEqual({ outcome: 'failed', reason: expect.stringMatching(reason) });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });

  it('redirects to a forbidden address', async () => {
    const fetch = createFetchFeed(() => Promise.reject(new OutboundError('bad-answer')));
    expect(await fetch(feed, signal)).toMatchObject({ outcome: 'failed', reason: /led elsewhere/ });
  });
});

describe('two concurrent reads of a feed', () => {
  it('with different contents: the later result is discarded, and a third read decides', async () => {
    const log = await openCampaignLog();
    const catalogId = randomUUID();
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
      context: { commandId: randomUUID(), customerId: CUSTOMER, actor: 'test', requestId: 'r' },
    });
    const due = { customerId: CUSTOMER, key: catalogId };
    const readAs = (contentHash: string, meanwhile: () => Promise<unknown> = async () => undefined) =>
      readFeed(
        {
          ...log.writes(),
          fetchFeed: async () => {
            await meanwhile();
            return { outcome: 'read', contentHash, bytes: 1 };
          },
        },
        due,
        { attempt: 1, isLastAttempt: false, signal },
      );
    expect(await readAs('newer', async () => expect(await readAs('older')).toEqual({ is: 'next' }))).toEqual({
      is: 'next',
      afterMs: 60_000,
    });
    expect(await readAs('newer')).toEqual({ is: 'next' });
    const types = ['CatalogPublished', 'CatalogFeedRead', 'CatalogFeedRead'];
    expect(await log.typesOf(stream)).toEqual(types);
  });
});
