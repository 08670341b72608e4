import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { KEPT_DAYS } from '../../domain/notifications/kept-days.ts';
import { createFeedCursors, isExpired, LAST_IDX } from '../../query/notifications/cursor.ts';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';

const cursorsOf = (key: string) => createFeedCursors(async () => parseKeyRing(`test:${key.repeat(43)}`));
const cursors = cursorsOf('A');
const place = fc.record({
  position: fc
    .bigInt({ min: 0n, max: 10n ** 16n - 1n })
    .map((position) => String(position).padStart(16, '0')),
  idx: fc.nat(LAST_IDX),
  at: fc
    .date({
      min: new Date('2020-01-01T00:00:00Z'),
      max: new Date('2100-01-01T00:00:00Z'),
      noInvalidDate: true,
    })
    .map((at) => at.toISOString()),
});
const account = fc.integer({ min: 1, max: 2 ** 31 });

it('a cursor leads its account back to the place, and no other account', async () => {
  await fc.assert(
    fc.asyncProperty(place, account, account, async (one, own, other) => {
      const cursor = await cursors.of(own, one);
      expect(cursor).toMatch(/^[A-Za-z0-9_-]{60,200}$/);
      expect(await cursors.read(own, cursor, 'after')).toEqual(one);
      if (other !== own) await expect(cursors.read(other, cursor, 'after')).rejects.toMatchObject(refused);
      await expect(cursorsOf('B').read(own, cursor, 'after')).rejects.toMatchObject(refused);
    }),
  );
});
const refused = { body: { code: 'VALIDATION_ERROR', field: 'after' } };

it('a cursor expires when the events after it may have been deleted', () => {
  const at = '2026-03-01T00:00:00.000Z';
  const endMs = Date.parse(at) + KEPT_DAYS * 24 * 60 * 60 * 1_000;
  expect(isExpired({ position: '0', idx: 0, at }, endMs)).toBe(false);
  expect(isExpired({ position: '0', idx: 0, at }, endMs + 1)).toBe(true);
});
