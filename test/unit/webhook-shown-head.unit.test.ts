import { expect, it } from '@jest/globals';
import { shownHead } from '../../command/workers/webhooks/shown-head.ts';

const SECRET = String.raw`a/b+c<d>&"e\f'{g}`.repeat(15);

it('hides a secret of any visible characters, whole, escaped or cut, in little time', () => {
  const text = `got ${SECRET}, ${JSON.stringify(SECRET).slice(1, -1)}, ${encodeURIComponent(SECRET)}.`;
  expect(shownHead(Buffer.from(text), [SECRET])).toBe('got [secret], [secret], [secret].');
  expect(shownHead(Buffer.from(text.slice(0, 100)), ['another secret', SECRET])).toBe('got [secret]');
  const hostile = Buffer.from(SECRET.slice(0, 20).repeat(51));
  const startedAt = performance.now();
  for (let n = 0; n < 100; n += 1) shownHead(hostile, [SECRET, 'b'.repeat(256)]);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});
