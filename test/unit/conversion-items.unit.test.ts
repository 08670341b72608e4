import { describe, expect, it } from '@jest/globals';
import { fingerprintsOf } from '../../domain/conversions/fingerprint.ts';
import { validateItems } from '../../domain/conversions/validate-items.ts';
import { readRfc3339 } from '../../domain/rfc3339.ts';
import { item, NOW_MS, SOURCE } from '../support/conversion-calls.ts';

const rules = { nowMs: NOW_MS, fingerprintInto: fingerprintsOf(SOURCE), readTime: readRfc3339 };
const reasonOf = (event: unknown, more = {}): string | undefined =>
  validateItems([event], { ...rules, ...more }).rejected[0]?.reason;
const at = (eventTime: unknown): string | undefined => reasonOf(item('a', { eventTime }));
const HASH = 'ab'.repeat(32);

describe('an event is accepted', () => {
  it.each<[string, object]>([
    ['with only id and time', item('a')],
    [
      'with every member',
      item('a', {
        eventType: 'purchase',
        value: -12.5,
        currency: 'EUR',
        customEventName: 'x'.repeat(256),
        userMatch: {
          hashedEmail: HASH,
          uids: [{ type: 'ramp_id', value: 'XY12-_' }],
          clickId: 'abc',
          unknown: 1,
        },
        actionSource: 'website',
        eventSourceUrl: 'https://shop.example/thanks?id=1',
        orderId: '4711',
        contentIds: ['sku-1', 'sku-2'],
        unknownMember: { a: 1 },
      }),
    ],
    ['with an id of 256 code points beyond the basic plane', item('\u{1F600}'.repeat(256))],
    ['with value 0', item('a', { value: 0 })],
  ])('%s', (_, event) => expect(reasonOf(event)).toBeUndefined());

  it.each([
    '2026-03-01T12:00:00Z',
    '2026-03-01t12:00:00.123456789z',
    '2026-03-01T14:00:00+02:00',
    '2026-03-02T12:00:00.000Z',
    '2025-12-01T12:00:00Z',
    '2026-02-28T23:59:59-11:30',
  ])('at %s', (time) => expect(at(time)).toBeUndefined());

  it('at the same instant, with any offset', () => {
    const times = ['2026-03-01T10:00:00Z', '2026-03-01T12:30:00+02:30', '2026-03-01T00:15:00-09:45'];
    const { items } = validateItems(
      times.map((eventTime, n) => item(`${n}`, { eventTime })),
      rules,
    );
    expect(new Set(items.times)).toEqual(new Set([Date.parse('2026-03-01T10:00:00Z')]));
  });
});

describe('an event is refused', () => {
  it.each<[string, unknown, RegExp]>([
    ['that is not an object', 'text', /object/],
    ['that is an array', [], /object/],
    ['that is null', null, /object/],
    ['without an id', { eventTime: '2026-03-01T11:00:00Z' }, /^eventId must be a string/],
    ['with an empty id', item(''), /^eventId must have 1 to 256/],
    ['with an id of 257 characters', item('x'.repeat(257)), /^eventId must have 1 to 256/],
    ['with an id of 257 code points', item('\u{1F600}'.repeat(257)), /^eventId must have/],
    ['with a number as id', item(5 as unknown as string), /^eventId must be a string/],
    ['with U+0000 in its id', item('a\0b'), /U\+0000/],
    ['with half a surrogate pair', item('a\ud800'), /surrogate/],
    ['of an unknown type', item('a', { eventType: 'bought' }), /^eventType/],
    ['of no type', item('a', { eventType: null }), /^eventType/],
    ['with text as value', item('a', { value: '5' }), /^value/],
    ['with an infinite value', item('a', { value: Infinity }), /^value/],
    ['with NaN', item('a', { value: Number.NaN }), /^value/],
    ['with null as value', item('a', { value: null }), /^value/],
    ['with a currency in small letters', item('a', { currency: 'eur' }), /^currency/],
    ['with a currency and a line end', item('a', { currency: 'EUR\n' }), /^currency/],
    ['with an empty custom name', item('a', { customEventName: '' }), /^customEventName/],
    ['with a custom name of 900 kB', item('a', { customEventName: 'x'.repeat(900_000) }), /^customEventName/],
    ['with a plain e-mail', item('a', { userMatch: { email: 'a@b.example' } }), /hashedEmail/],
    [
      'with an e-mail as hash',
      item('a', { userMatch: { hashedEmail: 'a@b.example' } }),
      /^userMatch hashedEmail/,
    ],
    [
      'with an e-mail as id',
      item('a', { userMatch: { uids: [{ type: 'x', value: 'a@b.example' }] } }),
      /^userMatch uids/,
    ],
    ['with text as user match', item('a', { userMatch: 'x' }), /^userMatch must be an object/],
    ['with an unknown action source', item('a', { actionSource: 'tv' }), /^actionSource/],
    ['with a script as URL', item('a', { eventSourceUrl: 'javascript:alert(1)' }), /^eventSourceUrl/],
    ['with an empty order id', item('a', { orderId: '' }), /^orderId/],
    [
      'with 101 content ids',
      item('a', { contentIds: Array.from({ length: 101 }, () => 'x') }),
      /^contentIds/,
    ],
  ])('%s', (_, event, reason) => expect(reasonOf(event)).toMatch(reason));

  it.each<[unknown, RegExp]>([
    ['yesterday', /^eventTime must be an RFC 3339 date-time/],
    [1_772_362_800, /^eventTime must be an RFC 3339 date-time/],
    [null, /^eventTime must be an RFC 3339 date-time/],
    ['2026-02-28T23:59:60Z', /^eventTime .*leap seconds are not supported/],
    ['1969-12-31T23:59:59Z', /^eventTime must be from 1970/],
  ])('at %j', (time, reason) => expect(at(time)).toMatch(reason));

  it('more than 24 hours in the future, by a millisecond', () =>
    expect(at('2026-03-02T12:00:00.001Z')).toMatch(/future/));
  it('more than 90 days ago, by a millisecond', () =>
    expect(at('2025-12-01T11:59:59.999Z')).toMatch(/90 days/));
  it('of a type that its source does not accept', () =>
    expect(reasonOf(item('a', { eventType: 'lead' }), { allowedTypes: ['purchase'] })).toMatch(
      /event source accepts/,
    ));
  it('of the default type, if its source does not accept that', () =>
    expect(reasonOf(item('a'), { allowedTypes: ['purchase'] })).toMatch(/event source accepts/));
});

it('rejections name the indexes in the request, ascending, once each', () => {
  const events = [item(''), item('a'), 5, item('b', { value: 'x', currency: 'x' }), item('c')];
  const { rejected, items } = validateItems(events, rules);
  expect(rejected.map(({ index }) => index)).toEqual([0, 2, 3]);
  expect(items.sent.map(({ eventId }) => eventId)).toEqual(['a', 'c']);
});

it('hashes of users are stored in lower case, unknown members are dropped', () => {
  const userMatch = { hashedEmail: HASH.toUpperCase(), clientIp: '192.0.2.1' };
  expect(validateItems([item('a', { userMatch })], rules).items.more.get(0)).toEqual({
    userMatch: { hashedEmail: HASH },
  });
});
