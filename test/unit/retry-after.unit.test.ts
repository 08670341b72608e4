import { expect, it } from '@jest/globals';
import { retryAfterMs } from '../../shared/outbound/retry-after.ts';

/** In UTC, so that the time zone of the machine has no effect. */
const NOW = Date.parse('1994-11-06T08:49:07Z');

it.each([
  ['0', 0],
  ['1', 1_000],
  [' 30 ', 30_000],
  ['3600', 3_600_000],
  ['3601', 3_600_000],
  ['9'.repeat(400), 3_600_000],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 30_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 30_000],
  ['Sun Nov  6 08:49:37 1994', 30_000],
  ['Sun, 06 Nov 1994 08:49:00 GMT', 0],
  ['Mon, 07 Nov 1994 08:49:37 GMT', 3_600_000],
])('%j is a valid header', (header, ms) => {
  expect(retryAfterMs(header, NOW, 3_600)).toBe(ms);
});

it.each([
  null,
  '',
  '-1',
  '1.5',
  '1e3',
  '0x10',
  '١',
  '1, 2',
  'soon',
  '1994-11-06T08:49:37Z',
  'Sun, 99 Foo 1994',
  'Sun',
])('%j is ignored', (header) => {
  expect(retryAfterMs(header, NOW, 3_600)).toBe(0);
});
