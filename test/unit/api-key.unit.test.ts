import { describe, expect, it } from '@jest/globals';
import { generateApiKey, parseApiKey } from '../../shared/secrets/api-key.ts';

describe('an API key', () => {
  it('is verified by its id and the hash of its secret', () => {
    for (let n = 0; n < 200; n++) {
      const { key, keyId, secretHash, maskedKey } = generateApiKey();
      expect(parseApiKey(key)).toEqual({ keyId, secretHash });
      expect(maskedKey).toBe(`bx_${keyId}_****${key.slice(-4)}`);
    }
  });
  it('is unique', () => {
    const keys = Array.from({ length: 500 }, () => generateApiKey());
    expect(new Set(keys.map(({ keyId }) => keyId)).size).toBe(500);
    expect(new Set(keys.map(({ key }) => key)).size).toBe(500);
  });
  it.each([
    '',
    'bx__',
    'bx_short_secret',
    `ax_${'a'.repeat(16)}_${'b'.repeat(43)}`,
    `bx_${'a'.repeat(16)}_${'b'.repeat(44)}`,
  ])('%j is not an API key', (text) => expect(parseApiKey(text)).toBeUndefined());
});
