import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { done, newKey, written, type Arguments } from '../support/mcp-belongings.ts';
import { connectV2, type ToolClient } from '../support/mcp-clients.ts';
import { startRunningService, type RunningService } from '../support/running-service.ts';

/** Pages of lists, their cursors, and results near 200,000 bytes. */

const BYTES_MAX = 200_000;

let service: RunningService;
let client: ToolClient;
let other: ToolClient;
let advertiserId: number;
const campaigns: string[] = [];

/** Three bytes of UTF-8 each. */
const BRIEF = '\u6f22'.repeat(5_000);
const ROWS = 13;

beforeAll(async () => {
  service = await startRunningService();
  const open = async (name: string): Promise<ToolClient> =>
    connectV2('auto')(`${service.baseUrl}/mcp`, (await service.openAccount(name)).apiKey);
  client = await open('Pages');
  other = await open('Others');
  const made = await written(client, 'save_advertiser', { name: 'A' });
  advertiserId = (made['object'] as { id: number }).id;
  for (let n = 0; n < ROWS; n += 1) {
    const campaign = { advertiserId, name: `Campaign ${String(n).padStart(2, '0')}`, brief: BRIEF };
    const { object } = (await written(client, 'save_campaign', campaign)) as { object: { id: string } };
    campaigns.push(object.id);
  }
}, 60_000);
afterAll(async () => {
  await client.close();
  await other.close();
  await service.stop();
});

interface SearchResult {
  readonly objects: { readonly results: readonly { readonly id: string; readonly name?: string }[] };
  readonly page: {
    readonly returned: number;
    readonly total?: number;
    readonly hasMore: boolean;
    readonly truncated: boolean;
    readonly nextCursor?: string;
  };
}
const search = async (input: Arguments, by = client): Promise<SearchResult> =>
  (await done(by, 'search', { kind: 'campaign', ...input })) as unknown as SearchResult;
const bytesOf = (result: unknown): number => Buffer.byteLength(JSON.stringify(result));

describe('the size of a result', () => {
  it('is at most 200,000 bytes, and the rows that are cut are on the next page', async () => {
    const fits = await search({ view: 'full' });
    expect(fits.page).toEqual({ returned: ROWS, total: ROWS, hasMore: false, truncated: false });
    const missing = BYTES_MAX - bytesOf(fits);
    expect(missing).toBeGreaterThan(0);
    // Another campaign with as many bytes as are missing, and then one more, and one less.
    const { object } = (await written(client, 'save_campaign', {
      advertiserId,
      name: 'Last',
      brief: '',
    })) as {
      object: { id: string };
    };
    const campaignId = object.id;
    campaigns.push(campaignId);
    const withEmpty = await search({ view: 'full' });
    const left = BYTES_MAX - bytesOf(withEmpty);
    const sized = async (brief: number): Promise<SearchResult> => {
      await written(client, 'save_campaign', { campaignId, brief: 'x'.repeat(brief) });
      return search({ view: 'full' });
    };
    const below = await sized(left - 1);
    expect([bytesOf(below), below.page.truncated, below.page.returned]).toEqual([
      BYTES_MAX - 1,
      false,
      ROWS + 1,
    ]);
    const at = await sized(left);
    expect([bytesOf(at), at.page.truncated, at.page.returned]).toEqual([BYTES_MAX, false, ROWS + 1]);
    const above = await sized(left + 1);
    expect(bytesOf(above)).toBeLessThanOrEqual(BYTES_MAX);
    expect(above.page).toMatchObject({
      returned: ROWS,
      total: ROWS + 1,
      hasMore: true,
      truncated: true,
      nextCursor: expect.any(String),
    });
    const rest = await search({ view: 'full', cursor: above.page.nextCursor });
    expect([...above.objects.results, ...rest.objects.results].map(({ id }) => id)).toEqual(
      campaigns.toReversed(),
    );
  }, 60_000);

  it('of one row that is too large is made by leaving out its largest members', async () => {
    const slots = Array.from({ length: 6 }, (_, n) => ({
      slotId: `s${n}`,
      kind: 'text',
      value: '\u6f22'.repeat(10_000),
    }));
    const copy = Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`c${n}`, '\u6f22'.repeat(2_000)]));
    const campaignId = campaigns[0];
    const made = await written(client, 'save_creative', {
      campaignId,
      formatKind: 'custom',
      name: 'Huge',
      slots,
      copy,
    });
    const large = bytesOf(slots);
    expect(made).toMatchObject({
      action: 'created',
      object: { name: 'Huge', copy },
      omitted: { '/object/slots': large },
    });
    expect(made['object']).not.toHaveProperty('slots');
    await written(client, 'save_creative', { campaignId, formatKind: 'image', name: 'Small' });
    const pages: string[] = [];
    let cursor: string | undefined;
    do {
      const found = (await done(client, 'search', {
        kind: 'creative',
        filters: { campaignId },
        view: 'full',
        ...(cursor !== undefined && { cursor }),
      })) as unknown as SearchResult & { readonly omitted?: object };
      expect(bytesOf(found)).toBeLessThanOrEqual(BYTES_MAX);
      if (found.omitted !== undefined) {
        expect(found).toMatchObject({
          omitted: { '/objects/results/0/slots': large },
          page: { truncated: true },
        });
      }
      pages.push(found.objects.results.map(({ name }) => name).join());
      cursor = found.page.nextCursor;
    } while (cursor !== undefined);
    expect(pages).toEqual(['Small', 'Huge']);
    // The summary has no large members.
    const summary = await done(client, 'search', { kind: 'creative', filters: { campaignId } });
    expect(summary).toMatchObject({ page: { returned: 2, truncated: false } });
  }, 60_000);

  it('of an object with its lists is cut in the lists, each with its cursor', async () => {
    const id = campaigns[0];
    const include = ['history', 'creatives'];
    const both = (await done(client, 'get', { kind: 'campaign', id, include })) as unknown as {
      readonly included: Readonly<Record<string, readonly unknown[]>>;
      readonly pages: Readonly<Record<string, SearchResult['page']>>;
    };
    expect(bytesOf(both)).toBeLessThanOrEqual(BYTES_MAX);
    expect(both.pages).toMatchObject({ history: { returned: 1 }, creatives: { returned: 2, total: 2 } });
    const one = { kind: 'campaign', id, include: ['creatives'], limit: 1 };
    const first = (await done(client, 'get', one)) as { page: SearchResult['page'] };
    expect(first).toMatchObject({ included: { creatives: [{ name: 'Small' }] }, page: { hasMore: true } });
    const second = await done(client, 'get', { ...one, cursor: first.page.nextCursor });
    expect(second).toMatchObject({ included: { creatives: [{ name: 'Huge' }] }, page: { hasMore: false } });
    expect(
      await client.call('get', { kind: 'campaign', id, include, cursor: first.page.nextCursor }),
    ).toMatchObject({
      isError: true,
      content: { code: 'VALIDATION_ERROR', field: 'cursor' },
    });
  });

  it('of the text is small, too: a large result is not sent twice', async () => {
    const { content } = await client.raw('search', { kind: 'campaign', view: 'full' });
    const [{ text }] = content as [{ text: string }];
    expect(text).toMatch(/^The result has \d+ bytes/);
    const small = await client.raw('search', { kind: 'campaign', limit: 1 });
    expect(JSON.parse((small.content as [{ text: string }])[0].text)).toEqual(small.structuredContent);
  });
});

describe('a cursor', () => {
  const wrong = { isError: true, content: { code: 'VALIDATION_ERROR', field: 'cursor' } };

  it('continues a list, with another size of page, until its end', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    let limit = 3;
    do {
      const { objects, page } = await search({ limit, ...(cursor !== undefined && { cursor }) });
      seen.push(...objects.results.map(({ id }) => id));
      expect(page).toMatchObject({
        total: campaigns.length,
        hasMore: page.nextCursor !== undefined,
        truncated: false,
      });
      cursor = page.nextCursor;
      limit += 1;
    } while (cursor !== undefined);
    expect(seen).toEqual(campaigns.toReversed());
  });

  it('of another query or account, or a modified one, is refused', async () => {
    const { page } = await search({ limit: 2, filters: { advertiserId } });
    const cursor = String(page.nextCursor);
    const same = { kind: 'campaign', limit: 2, filters: { advertiserId }, cursor };
    expect(await client.call('search', same)).toMatchObject({ isError: false });
    for (const changed of [
      { filters: {} },
      { filters: { advertiserId, phase: 'draft' } },
      { asOf: new Date().toISOString() },
      { cursor: `${cursor.slice(0, -2)}aa` },
      { cursor: 'bmV2ZXI' },
      { kind: 'adcp_agent', filters: {} },
    ]) {
      expect({ changed, ...(await client.call('search', { ...same, ...changed })) }).toMatchObject(wrong);
    }
    const theirs = await written(other, 'save_advertiser', { name: 'B' });
    expect(theirs).toMatchObject({ action: 'created' });
    expect(await other.call('search', same)).toMatchObject(wrong);
    const mine = await search({ limit: 2 });
    expect(
      await other.call('search', { kind: 'campaign', limit: 2, cursor: mine.page.nextCursor }),
    ).toMatchObject(wrong);
  });

  it('of a history belongs to one object and one tool', async () => {
    const [id, another] = campaigns;
    for (const name of ['A', 'B', 'C']) await written(client, 'save_campaign', { campaignId: id, name });
    const first = (await done(client, 'history', { kind: 'campaign', id, limit: 2 })) as {
      events: readonly { revision: number }[];
      page: SearchResult['page'];
    };
    expect(first.events.map(({ revision }) => revision)).toEqual([1, 2]);
    const { nextCursor: cursor } = first.page;
    const second = await done(client, 'history', { kind: 'campaign', id, limit: 2, cursor });
    expect(second).toMatchObject({ events: [{ revision: 3 }, { revision: 4 }], page: { hasMore: false } });
    for (const [tool, input] of [
      ['history', { id: another }],
      ['explain', { id }],
      ['diff', { id, from: 0 }],
    ] as const) {
      expect(await client.call(tool, { kind: 'campaign', ...input, cursor })).toMatchObject(wrong);
    }
  });

  it('of an explanation or a difference stays with the revisions of its first page', async () => {
    const [, id] = campaigns;
    const asked = { kind: 'campaign', id, limit: 4 };
    for (const [tool, extra, member] of [
      ['explain', {}, 'members'],
      ['diff', { from: 0 }, 'changes'],
    ] as const) {
      const whole = await done(client, tool, { kind: 'campaign', id, ...extra });
      const first = (await done(client, tool, { ...asked, ...extra })) as { page: SearchResult['page'] };
      await written(client, 'save_campaign', { campaignId: id, brief: `Changed by ${tool}` });
      const rows = [...((first as unknown as Record<string, unknown[]>)[member] ?? [])];
      let { nextCursor: cursor } = first.page;
      while (cursor !== undefined) {
        const next = (await done(client, tool, { ...asked, ...extra, cursor })) as {
          page: SearchResult['page'];
        };
        rows.push(...((next as unknown as Record<string, unknown[]>)[member] ?? []));
        cursor = next.page.nextCursor;
      }
      expect(rows).toEqual(whole[member]);
    }
  });

  it('of a list that is paged with cursors continues it', async () => {
    const campaignId = campaigns[2];
    const titles = Array.from({ length: 5 }, (_, n) => `S${n}`);
    for (const title of titles)
      await written(client, 'save_creative_session', { campaignId, step: 'start', title });
    const asked = { kind: 'creative_session', filters: { campaignId }, limit: 2 };
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const { objects, page } = (await done(client, 'search', {
        ...asked,
        ...(cursor !== undefined && { cursor }),
      })) as unknown as SearchResult;
      seen.push(...objects.results.map((row) => (row as { title?: string }).title));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(titles.toReversed());
  });

  it('of the feed of events continues it later', async () => {
    const read = async (cursor?: string) =>
      (await done(client, 'list_events', {
        types: ['campaign.*'],
        limit: 5,
        ...(cursor !== undefined && { cursor }),
      })) as unknown as { events: readonly { type: string }[]; page: SearchResult['page'] };
    let page = await read();
    while (page.page.hasMore) page = await read(page.page.nextCursor);
    const end = page.page.nextCursor;
    expect((await read(end)).events).toEqual([]);
    await written(client, 'save_campaign', { advertiserId, name: 'Later', idempotencyKey: newKey() });
    expect((await read(end)).events).toMatchObject([{ type: 'campaign.created' }]);
    expect(await other.call('list_events', { cursor: end })).toMatchObject(wrong);
  });
});
