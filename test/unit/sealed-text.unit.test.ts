import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseKeyRing } from '../../shared/secrets/key-ring.ts';
import { createTextSealer } from '../../shared/secrets/sealed-text.ts';

const key = (id: string): string => `${id}:${Buffer.alloc(32, id).toString('base64url')}`;
const sealerOf = (ring: string, purpose = 'cursors') =>
  createTextSealer(async () => parseKeyRing(ring), purpose);
const sealer = sealerOf(key('one'));

describe('sealed texts', () => {
  it('open in their context only, and show nothing of the text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), fc.string(), async (text, context, other) => {
        const token = await sealer.seal(text, context);
        expect(await sealer.open(token, context)).toBe(text);
        expect(await sealer.seal(text, context)).toBe(token);
        if (other !== context) expect(await sealer.open(token, other)).toBeUndefined();
        if (text.length > 4) expect(Buffer.from(token, 'base64url').toString('utf8')).not.toContain(text);
      }),
    );
  });

  it('do not open after any change of a character', async () => {
    const token = await sealer.seal('00000000000000000042|0|2026-01-02T03:04:05.678Z', '7');
    for (let at = 0; at < token.length; at += 1) {
      for (const other of ['A', 'B', '_', '', 'AA', '=', 'ä']) {
        const changed = token.slice(0, at) + other + token.slice(at + 1);
        if (changed !== token) expect(await sealer.open(changed, '7')).toBeUndefined();
      }
    }
    for (const broken of ['', 'x', token.slice(0, 21), `${token}A`, 'A'.repeat(5_000)]) {
      expect(await sealer.open(broken, '7')).toBeUndefined();
    }
  });

  it('open after a rotation of keys, and neither with other keys nor for another purpose', async () => {
    const token = await sealer.seal('text', '7');
    expect(await sealerOf(`${key('two')},${key('one')}`).open(token, '7')).toBe('text');
    expect(await sealerOf(key('two')).open(token, '7')).toBeUndefined();
    expect(await sealerOf(key('one'), 'another').open(token, '7')).toBeUndefined();
  });
});
