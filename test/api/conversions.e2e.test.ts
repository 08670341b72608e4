import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BatchResult } from '../../domain/conversions/decide-batch.ts';
import { freshnessColumns, freshnessOfAllSql } from '../../shared/follow-log/written-position.ts';
import { consistentRead } from '../../shared/follow-log/consistent-read.ts';
import { conflict, invalid, notFound, refusalOf, type ApiAnswer } from '../support/api-client.ts';
import { startRunningService, type RunningService, type TestAccount } from '../support/running-service.ts';

/** POST /api/v2/buyer/event-sources/{key}/events (specification, endpoint 14). */

let service: RunningService;
let account: TestAccount;
let advertiser: number;
beforeAll(async () => {
  service = await startRunningService();
  account = await service.openAccount();
  advertiser = await newAdvertiser();
});
afterAll(() => service.stop());

const newAdvertiser = async (of = account): Promise<number> =>
  (await of.api.post<{ id: number }>('/advertisers', { name: 'Acme' })).body.data.id;

let named = 0;
/** The key of a new source. */
const newSource = async (
  members: object = {},
  { of = account, owner = advertiser, key = `shop-${(named += 1)}` } = {},
): Promise<string> => {
  const answer = await of.api.post(`/advertisers/${owner}/event-sources/sync`, {
    account: { account_id: String(owner) },
    event_sources: [{ event_source_id: key, ...members }],
  });
  expect(answer.status).toBe(200);
  return key;
};

const agoIso = (ms = 0): string => new Date(Date.now() - ms).toISOString();
const item = (eventId: string, members: object = {}): object => ({
  eventId,
  eventTime: agoIso(),
  ...members,
});
const items = (count: number, prefix = ''): object[] =>
  Array.from({ length: count }, (_, n) => item(`${prefix}${n}`));

const log = (
  key: string,
  events: readonly unknown[],
  {
    members = {},
    headers = {},
    of = account,
  }: { members?: object; headers?: Record<string, string>; of?: TestAccount } = {},
): Promise<ApiAnswer<BatchResult>> =>
  of.api.post<BatchResult>(`/event-sources/${key}/events`, { events, ...members }, headers);
/** Repeats a call with the same key when the answer comes too late on a busy machine, as clients do. */
const logUntilAnswered = async (key: string, events: readonly unknown[]): Promise<ApiAnswer<BatchResult>> => {
  const headers = { 'Idempotency-Key': randomUUID() };
  for (let tries = 0; ; tries += 1) {
    const answer = await log(key, events, { headers });
    if (answer.status === 200 || tries === 20) return answer;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
};
const result = (accepted: number, duplicates: number, health = 'receiving', rejected: unknown[] = []) => ({
  accepted,
  rejected,
  duplicates,
  health,
});
/** Ids of the logged events of the account. */
const loggedIds = async (of = account): Promise<readonly string[]> =>
  (await service.eventsOfAccount(of)).flatMap(({ type, data }) =>
    type === 'ConversionsLogged' ? (data['eventIds'] as string[]) : [],
  );

describe('a batch', () => {
  it('counts new, repeated and invalid events', async () => {
    const key = await newSource();
    expect((await log(key, [item('order-1', { value: 10, currency: 'EUR' })])).body.data).toEqual(
      result(1, 0),
    );
    const answer = await log(key, [
      item('order-2'),
      item('order-1'),
      { eventId: 'order-3', eventTime: 'today' },
    ]);
    expect([answer.status, answer.body.data]).toEqual([
      200,
      result(1, 1, 'receiving', [
        { index: 2, reason: expect.stringMatching(/^eventTime must be an RFC 3339/) },
      ]),
    ]);
  });

  it('counts an event once that it contains twice, and logs the first', async () => {
    const key = await newSource();
    const events = [item('a', { value: 1 }), item('a', { value: 2 }), item('a', { eventType: 'lead' })];
    expect((await log(key, events)).body.data).toEqual(result(2, 1));
  });

  it('of 10,000 events is logged; repeated, it is 10,000 duplicates', async () => {
    const key = await newSource();
    const events = items(10_000, `large-${key}-`);
    expect((await log(key, events)).body.data).toEqual(result(10_000, 0));
    expect((await log(key, events)).body.data).toEqual(result(0, 10_000));
    const own = (await loggedIds()).filter((id) => id.startsWith(`large-${key}-`));
    expect([own.length, new Set(own).size]).toEqual([10_000, 10_000]);
  });

  it('is accepted up to 16 MiB and refused above', async () => {
    const key = await newSource();
    const userMatch = { hashedEmail: 'a'.repeat(64), clickId: 'c'.repeat(400) };
    const events = items(10_000).map((one) => ({ ...one, userMatch, orderId: 'o'.repeat(250) }));
    expect((await logUntilAnswered(key, events)).body.data).toEqual(result(10_000, 0));
    const tooLarge = await log(
      key,
      events.map((one) => ({ ...one, ignored: 'x'.repeat(1_000) })),
    );
    expect(refusalOf(tooLarge).slice(0, 2)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  it('names every invalid member of an event by its place and logs the other events', async () => {
    const key = await newSource();
    const broken = [
      item(''),
      item('x'.repeat(257)),
      item('a\0'),
      item('b\ud800'),
      { eventId: 'c' },
      7,
      item('d', { value: 'x' }),
    ];
    const events = broken.flatMap((one, n) => [item(`ok-${n}`), one, item(`fine-${n}`)]);
    const { accepted, duplicates, rejected } = (await log(key, events)).body.data;
    expect([accepted, duplicates]).toEqual([14, 0]);
    expect(rejected.map(({ index }) => index)).toEqual(broken.map((_, n) => 3 * n + 1));
    for (const { reason } of rejected) expect(reason).toMatch(/^[a-z]\w+ /i);
  });

  const text = (eventId: string, members: string): string => {
    const plain = JSON.stringify(item(eventId));
    return `${plain.slice(0, -1)}${members === '' ? '' : `,${members}`}}`;
  };
  const logText = (key: string, events: readonly string[], headers: Record<string, string> = {}, more = '') =>
    account.api.post<BatchResult>(
      `/event-sources/${key}/events`,
      `{"events":[${events.join(' ,\n')}]${more}}`,
      headers,
    );
  const nested = (levels: number): string => `${'['.repeat(levels)}1${']'.repeat(levels)}`;
  const unreadable: readonly (readonly [string, string])[] = [
    ['"value":1e999', 'value must not hold a number that is too large'],
    ['"value":-1e999', 'value must not hold a number that is too large'],
    ['"note":[{"deep":1e999}]', 'must not hold a number that is too large'],
    ['"__proto__":{"polluted":true}', 'must not hold a member named __proto__'],
    ['"note":{"\\u005f_proto__":1}', 'must not hold a member named __proto__'],
    ['"userMatch":{"__proto__":{}}', 'userMatch must not hold a member named __proto__'],
    [`"contentIds":${nested(33)}`, 'contentIds must not hold values nested deeper than 32 levels'],
    [`"note":${nested(100_000)}`, 'must not hold values nested deeper than 32 levels'],
    ['"orderId":"\\u0000"', 'orderId must not hold text with U+0000'],
    ['"note":"\\ud800"', 'must not hold text with half of a surrogate pair'],
  ];

  it.each([0, 1_000])(
    'logs all events except those that no JSON reader can represent, among %i others',
    async (among) => {
      const key = await newSource();
      const others = Array.from({ length: among }, (_, n) => text(`other-${n}`, '"value":12.5'));
      const events = unreadable.flatMap(([members], n) => [text(`odd-${n}`, members), text(`fine-${n}`, '')]);
      const answer = await logText(key, [...others, ...events]);
      const rejected = unreadable.map(([, reason], n) => ({ index: among + 2 * n, reason }));
      expect([answer.status, answer.body.data.rejected, answer.body.data.accepted]).toEqual([
        200,
        rejected,
        among + unreadable.length,
      ]);
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    },
  );

  it('accepts events with members named prototype or constructor, and with thousands of unknown members', async () => {
    const key = await newSource();
    const many = Array.from({ length: 2_000 }, (_, n) => `"m${n}":${n}`).join();
    const events = [
      '"prototype":1',
      '"constructor":{"prototype":[]}',
      '"toString":"x"',
      many,
      `"note":{${many}}`,
    ];
    const answer = await logText(
      key,
      events.map((members, n) => text(`named-${n}`, members)),
    );
    expect([answer.status, answer.body.data]).toEqual([200, result(events.length, 0)]);
  });

  it.each([
    ['a number that is too large', '"unknown":1e999', 'unknown'],
    ['__proto__', '"__proto__":1', '__proto__'],
    ['U+0000', '"testEventCode":"\\u0000"', 'testEventCode'],
    ['33 levels', `"unknown":${nested(33)}`, undefined],
  ])('is refused as a whole for %s outside its events', async (_what, member, field) => {
    const key = await newSource();
    const answer = await logText(key, [text('a', '')], {}, `,${member}`);
    expect(refusalOf(answer).slice(0, 2)).toEqual([400, 'VALIDATION_ERROR']);
    if (field !== undefined) expect(refusalOf(answer)[2]).toBe(field);
    expect((await logText(key, [text('a', '')])).body.data).toEqual(result(1, 0));
  });

  it('with such events is recognised by its key in any formatting, and refused with other content', async () => {
    const key = await newSource();
    const headers = { 'Idempotency-Key': randomUUID() };
    const at = agoIso();
    const odd = (value: string): string => `{"eventId":"a","eventTime":"${at}","value":${value}}`;
    const fine = (order: readonly string[]): string => `{${order.join(', ')}}`;
    const members = ['"eventId":"b"', `"eventTime":"${at}"`, '"value":1.50'];
    const first = await logText(key, [odd('1e999'), fine(members)], headers);
    expect(first.body.data).toMatchObject({ accepted: 1, rejected: [{ index: 0 }] });
    const again = await logText(key, [odd('1e999'), fine(members.toReversed())], headers);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    for (const value of ['2e999', '-1e999', 'null', '"1e999"', '[[1e999]]']) {
      const other = await logText(key, [odd(value), fine(members)], headers);
      expect([value, refusalOf(other)[1]]).toEqual([value, 'IDEMPOTENCY_CONFLICT']);
    }
  });

  it('with such events can be previewed and confirmed', async () => {
    const key = await newSource();
    const events = [text('a', '"value":1e999'), text('b', '')];
    const shown = await logText(key, events, {}, ',"confirm":false');
    expect(shown.body.data).toMatchObject({ accepted: 1, rejected: [{ index: 0 }] });
    const uid = shown.headers.get('confirmation-uid') ?? '';
    const confirm = `,"confirm":true,"confirmationUid":"${uid}"`;
    const other = await logText(key, [text('a', '"value":2e999'), ...events.slice(1)], {}, confirm);
    expect(refusalOf(other)).toEqual(conflict('confirmationUid'));
    expect((await logText(key, events, {}, confirm)).body.data).toMatchObject({ accepted: 1 });
  });

  it.each([
    ['no events', {}, 'events'],
    ['an empty array', { events: [] }, 'events'],
    ['events that are not an array', { events: { eventId: 'a' } }, 'events'],
    ['null as events', { events: null }, 'events'],
    ['an advertiser that is not a number', { events: [{}], advertiserId: 'x' }, 'advertiserId'],
    ['a test code that is not a string', { events: [{}], testEventCode: 5 }, 'testEventCode'],
    ['a test code with U+0000', { events: [{}], testEventCode: 'a\0' }, 'testEventCode'],
    ['confirm as text', { events: [{}], confirm: 'yes' }, 'confirm'],
  ])('with %s is refused as a whole', async (_, body, field) => {
    const key = await newSource();
    expect(refusalOf(await account.api.post(`/event-sources/${key}/events`, body))).toEqual(invalid(field));
  });

  it('of 10,001 events is refused as a whole', async () => {
    const key = await newSource();
    expect(refusalOf(await log(key, items(10_001, 'never-')))).toEqual(invalid('events'));
    expect((await loggedIds()).some((id) => id.startsWith('never-'))).toBe(false);
  });
});

describe('the same event id', () => {
  it('in two sources or two accounts is two events', async () => {
    const [one, two] = [await newSource(), await newSource()];
    const stranger = await service.openAccount();
    const owner = await newAdvertiser(stranger);
    await newSource({}, { of: stranger, owner, key: one });
    for (const answer of [
      await log(one, [item('same')]),
      await log(two, [item('same')]),
      await log(one, [item('same')], { of: stranger }),
    ]) {
      expect(answer.body.data).toEqual(result(1, 0));
    }
  });

  it('in 20 concurrent calls is logged once', async () => {
    const key = await newSource();
    const answers = await Promise.all(Array.from({ length: 20 }, () => log(key, items(50, `race-${key}-`))));
    expect(answers.reduce((sum, { body }) => sum + body.data.accepted, 0)).toBe(50);
    expect((await loggedIds()).filter((id) => id.startsWith(`race-${key}-`))).toHaveLength(50);
  });
});

describe('the source', () => {
  it('is 404 for a key that the account does not have', async () => {
    const stranger = await service.openAccount();
    const key = await newSource();
    for (const answer of [await log('never', items(1)), await log(key, items(1), { of: stranger })]) {
      expect(refusalOf(answer)).toEqual(notFound());
    }
  });

  it('must belong to the named advertiser', async () => {
    const key = await newSource();
    const other = await newAdvertiser();
    expect(refusalOf(await log(key, items(1), { members: { advertiserId: other } }))).toEqual(notFound());
    expect((await log(key, items(1), { members: { advertiserId: advertiser } })).body.data).toEqual(
      result(1, 0),
    );
  });

  it('needs its advertiser when two advertisers use the key', async () => {
    const key = await newSource();
    const owner = await newAdvertiser();
    await newSource({}, { owner, key });
    expect(refusalOf(await log(key, items(1)))).toEqual(invalid('advertiserId'));
    expect((await log(key, items(1), { members: { advertiserId: owner } })).body.data).toEqual(result(1, 0));
    expect((await log(key, items(1), { members: { advertiserId: advertiser } })).body.data).toEqual(
      result(1, 0),
    );
  });

  it('accepts only its event types, from the call after a restriction on', async () => {
    const key = await newSource({ event_types: ['purchase'] });
    const events = [item('a', { eventType: 'purchase' }), item('b', { eventType: 'lead' })];
    expect((await log(key, events)).body.data).toMatchObject({ accepted: 1, rejected: [{ index: 1 }] });
    await newSource({ event_types: ['lead'] }, { key });
    expect((await log(key, events)).body.data).toMatchObject({
      accepted: 1,
      duplicates: 0,
      rejected: [{ index: 0 }],
    });
  });

  it('refuses events after it is deleted, and accepts them after it is restored', async () => {
    const key = await newSource();
    await log(key, [item('a')]);
    const owner = advertiser;
    const left = await account.api.get<{ eventSources: { eventSourceId: string }[] }>(
      `/advertisers/${owner}/event-sources?take=200`,
    );
    const others = left.body.data.eventSources
      .map(({ eventSourceId }) => eventSourceId)
      .filter((id) => id !== key);
    await account.api.post(`/advertisers/${owner}/event-sources/sync`, {
      account: { account_id: String(owner) },
      event_sources: others.slice(0, 50).map((event_source_id) => ({ event_source_id })),
      delete_missing: true,
    });
    expect(refusalOf(await log(key, [item('b')], { members: { advertiserId: owner } }))).toEqual(conflict());
    await newSource({}, { key });
    expect((await log(key, [item('a'), item('b')])).body.data).toEqual(result(1, 1));
  });

  it('refuses events while its advertiser is archived', async () => {
    const owner = await newAdvertiser();
    const key = await newSource({}, { owner });
    expect((await log(key, [item('a')])).body.data).toEqual(result(1, 0));
    await account.api.delete(`/advertisers/${owner}`);
    expect(refusalOf(await log(key, [item('b')]))).toEqual(conflict());
    await account.api.post(`/advertisers/${owner}/restore`);
    expect((await log(key, [item('b')])).body.data).toEqual(result(1, 0));
  });
});

describe('health', () => {
  it('reflects the last call', async () => {
    const key = await newSource();
    const healthOf = async (...events: readonly unknown[]) => (await log(key, events)).body.data.health;
    expect(await healthOf(item('a'), 1)).toBe('receiving');
    expect(await healthOf(1, 2, item('b'))).toBe('needs_attention');
    expect(await healthOf(item('a'))).toBe('needs_attention');
    expect(await healthOf(item('c'))).toBe('receiving');
  });

  it('is not_seen until an event was accepted', async () => {
    const key = await newSource();
    expect((await log(key, [item('a')], { members: { testEventCode: 'T' } })).body.data).toEqual(
      result(1, 0, 'not_seen'),
    );
  });

  it('is current in a read immediately after the call', async () => {
    const key = await newSource();
    const events = [
      item('a', { value: 0.1, currency: 'EUR' }),
      item('b', { value: 0.2, currency: 'EUR' }),
      item('c'),
      5,
    ];
    await log(key, events);
    await log(key, [item('d', { eventType: 'purchase', value: -3, currency: 'USD' }), item('a')]);
    expect(await countsOf(key)).toEqual([
      { type: 'custom', currency: '', count: 1, sum: 0 },
      { type: 'custom', currency: 'EUR', count: 2, sum: 0.3 },
      { type: 'purchase', currency: 'USD', count: 1, sum: -3 },
    ]);
  });
});

/** Counts in the read model, and counts of all logged events of the account. */
const countsOf = async (key: string): Promise<unknown> => {
  const { rows } = await consistentRead<{ fresh: boolean; rows: unknown }>({
    pool: { query: async (query) => service.pool.query({ ...query, values: [...query.values] }) },
    projection: 'conversions',
    query: {
      name: 'counts-of',
      text: `select ${freshnessColumns('f')}, (
               select json_agg(json_build_object('type', event_type, 'currency', currency, 'count', count, 'sum', sum)
                 order by event_type, currency)
               from (select event_type, currency, sum(event_count) as count, sum(value_sum)::float8 as sum
                     from conversion_hours h join event_sources s on s.customer_id = h.customer_id and s.id = h.source_id
                     where s.customer_id = $1 and s.key = $3 group by 1, 2) c) as rows
             from ${freshnessOfAllSql('$1', ['$2'], 'conversion_positions')} f`,
      values: [account.customerId, 'conversions', key],
    },
  });
  return rows;
};

describe('a test event code', () => {
  it('validates and counts, but logs no event and compares with none', async () => {
    const key = await newSource();
    await log(key, [item('a')]);
    const answer = await log(key, [item('a'), item('b'), item('b'), 5], { members: { testEventCode: 'T1' } });
    expect(answer.body.data).toMatchObject({
      accepted: 3,
      duplicates: 0,
      health: 'receiving',
      rejected: [{ index: 3 }],
    });
    expect((await log(key, [item('b')])).body.data).toEqual(result(1, 0));
  });

  it("must equal the source's own code, if it has one", async () => {
    const key = await newSource({ test_event_code: 'TEST-1' });
    expect(refusalOf(await log(key, [item('a')], { members: { testEventCode: 'TEST-2' } }))).toEqual(
      invalid('testEventCode'),
    );
    expect((await log(key, [item('a')], { members: { testEventCode: 'TEST-1' } })).status).toBe(200);
    expect((await log(key, [item('a')])).body.data).toEqual(result(1, 0));
  });
});

describe('an idempotency key', () => {
  it('repeats the first answer, byte for byte, after later events', async () => {
    const key = await newSource();
    const headers = { 'Idempotency-Key': randomUUID() };
    const events = [item('a'), item('a'), 5];
    const first = await log(key, events, { headers });
    await log(key, [1, 2, 3]);
    const again = await log(key, events, { headers });
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
  });

  it('of an answer too long to store derives it from the log', async () => {
    const key = await newSource();
    const headers = { 'Idempotency-Key': randomUUID() };
    const events = Array.from({ length: 9_000 }, (_, n) =>
      n % 3 === 0 ? item(`${n % 100}`) : { eventId: 'x' },
    );
    const first = await log(key, events, { headers });
    expect(first.text.length).toBeGreaterThan(256 * 1024);
    await log(key, items(100));
    const again = await log(key, events, { headers });
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([
      200,
      first.text,
      'true',
    ]);
  });

  it('of many events recognises the call in any formatting, and no other', async () => {
    const key = await newSource();
    const headers = { 'Idempotency-Key': randomUUID() };
    const events = items(200).map((event) => ({ ...event, value: 12.5, unknown: 'x' }));
    const first = await log(key, events, { headers });
    const reordered = events.map((event) => Object.fromEntries(Object.entries(event).toReversed()));
    const again = await log(key, reordered, { headers });
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    const other = await log(key, events.with(199, { ...item('199'), value: 12.5, unknown: 'y' }), {
      headers,
    });
    expect(refusalOf(other)).toEqual([409, 'IDEMPOTENCY_CONFLICT', 'Idempotency-Key']);
  });

  it('with another batch is refused', async () => {
    const key = await newSource();
    const headers = { 'Idempotency-Key': randomUUID() };
    await log(key, [item('a')], { headers });
    expect(refusalOf(await log(key, [item('b')], { headers }))).toEqual([
      409,
      'IDEMPOTENCY_CONFLICT',
      'Idempotency-Key',
    ]);
  });
});

describe('confirm', () => {
  const shown = async (key: string, events: readonly unknown[], members: object = {}) => {
    const answer = await log(key, events, { members: { ...members, confirm: false } });
    expect(answer.status).toBe(200);
    const uid = answer.headers.get('confirmation-uid') ?? '';
    return { answer, uid, expires: Date.parse(answer.headers.get('confirmation-expires') ?? '') };
  };
  const confirmed = (key: string, events: readonly unknown[], confirmationUid: string, more = {}) =>
    log(key, events, { members: { confirm: true, confirmationUid }, ...more });

  it('false returns a preview, logs no event, and can be confirmed for 15 minutes', async () => {
    const key = await newSource();
    await log(key, [item('a')]);
    const events = [item('a'), item('b'), item('b'), 5];
    const { answer, uid, expires } = await shown(key, events);
    expect(answer.body.data).toMatchObject({ accepted: 1, duplicates: 2, rejected: [{ index: 3 }] });
    expect(Math.abs(expires - Date.now() - 15 * 60_000)).toBeLessThan(30_000);
    expect((await log(key, [item('z')])).body.data.accepted).toBe(1);
    expect((await confirmed(key, events, uid)).body.data).toMatchObject({ accepted: 1, duplicates: 2 });
  });

  const spent = [409, 'CONFIRMATION_EXPIRED', 'confirmationUid'];

  it('accepts a confirmation once: a second call is refused, without a key and with another', async () => {
    const key = await newSource();
    const events = [item('a'), item('b')];
    const { uid } = await shown(key, events);
    expect((await confirmed(key, events, uid)).body.data).toEqual(result(2, 0));
    expect(refusalOf(await confirmed(key, events, uid))).toEqual(spent);
    const headers = { 'Idempotency-Key': randomUUID() };
    expect(refusalOf(await confirmed(key, events, uid, { headers }))).toEqual(spent);
  });

  it('repeats the answer for the key of the confirming call, and for no other', async () => {
    const key = await newSource();
    const events = [item('a'), item('b')];
    const { uid } = await shown(key, events);
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await confirmed(key, events, uid, { headers });
    expect(first.body.data).toEqual(result(2, 0));
    const again = await confirmed(key, events, uid, { headers });
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    await service.pool.query('delete from idempotency_keys where key = $1', [headers['Idempotency-Key']]);
    const derived = await confirmed(key, events, uid, { headers });
    expect([derived.text, derived.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect(refusalOf(await confirmed(key, events, uid))).toEqual(spent);
  });

  it('carries out one of many concurrent calls with the same confirmation', async () => {
    const key = await newSource();
    const events = [item('a'), item('b')];
    const { uid } = await shown(key, events);
    const answers = await Promise.all(Array.from({ length: 10 }, () => confirmed(key, events, uid)));
    expect(answers.filter(({ status }) => status === 200).map(({ body }) => body.data)).toEqual([
      result(2, 0),
    ]);
    expect(answers.filter(({ status }) => status === 409).length).toBe(9);
  });

  it('leaves a confirmation usable when the call is refused', async () => {
    const owner = await newAdvertiser();
    const key = await newSource({}, { owner });
    const events = [item('a')];
    const { uid } = await shown(key, events);
    await account.api.delete(`/advertisers/${owner}`);
    expect(refusalOf(await confirmed(key, events, uid))).toEqual(conflict());
    await account.api.post(`/advertisers/${owner}/restore`);
    expect((await confirmed(key, events, uid)).body.data).toEqual(result(1, 0));
  });

  it('belongs to one account and one payload', async () => {
    const key = await newSource();
    const events = [item('a')];
    const { uid } = await shown(key, events);
    expect(refusalOf(await confirmed(key, [item('b')], uid))).toEqual(conflict('confirmationUid'));
    const stranger = await service.openAccount();
    const owner = await newAdvertiser(stranger);
    await newSource({}, { of: stranger, owner, key });
    expect(refusalOf(await confirmed(key, events, uid, { of: stranger }))).toEqual([
      409,
      'CONFIRMATION_EXPIRED',
      'confirmationUid',
    ]);
    expect((await confirmed(key, events, uid)).body.data).toEqual(result(1, 0));
  });

  it('refuses a confirmation that is unknown, expired or sent without confirm', async () => {
    const key = await newSource();
    const events = [item('a')];
    for (const uid of [randomUUID(), 'something']) {
      expect(refusalOf(await confirmed(key, events, uid))).toEqual([
        409,
        'CONFIRMATION_EXPIRED',
        'confirmationUid',
      ]);
    }
    const { uid } = await shown(key, events);
    for (const members of [{ confirmationUid: uid }, { confirmationUid: uid, confirm: false }]) {
      expect(refusalOf(await log(key, events, { members }))).toEqual(invalid('confirm'));
    }
    await service.pool.query(
      `update confirmations set created_at = created_at - interval '15 minutes' where uid = $1`,
      [uid],
    );
    expect(refusalOf(await confirmed(key, events, uid))).toEqual([
      409,
      'CONFIRMATION_EXPIRED',
      'confirmationUid',
    ]);
  });
});
